"""What a person typed, as far as a write lets on. A hint: managers can be chosen freely.

What an Application is asked to do once: the `operation` beside its spec.

`argocd app sync` writes the Application's own source and the revision that Argo CD had resolved
anyway; that asks for no more than haste. Another revision, source or manifest is deployed just as
well, past what the spec and Git say.
"""

from typing import Any, Final

from glasswarden.kube.objects import Object

_VERBS: Final = {
    "kubectl-client-side-apply": "apply",
    "kubectl-set": "set",
    "kubectl-rollout": "rollout",
}
_PREFIX: Final = "kubectl-"


def inferred_verb(operation: str, subresource: str, manager: str, manager_operation: str) -> str:
    """Return the verb behind a write, empty where nothing tells: ``edit``, ``scale``, ``apply``."""
    if operation == "DELETE":
        return "delete"
    if subresource:
        return subresource
    if manager_operation == "Apply":
        return "apply"
    if manager in _VERBS:
        return _VERBS[manager]
    if manager.startswith(_PREFIX):
        return manager.removeprefix(_PREFIX)
    return "create" if operation == "CREATE" else ""


def diverts(application: Object, operation: object) -> bool:
    """Tell whether *operation* would deploy something else than *application* follows."""
    sync = _mapping(operation).get("sync")
    if not isinstance(sync, dict):
        return False
    spec = _mapping(application.get("spec"))
    revisions = {*_listed(sync.get("revision")), *_listed(sync.get("revisions"))}
    others = [
        sync[field] for field in ("source", "sources") if sync.get(field) not in (None, [], {})
    ]
    return (
        bool(sync.get("manifests"))
        or not revisions <= _followed(application)
        or any(each not in (spec.get("source"), spec.get("sources")) for each in others)
    )


def _followed(application: Object) -> set[str]:
    """Return the revisions that *application* names, and those that Argo CD made of them."""
    spec = _mapping(application.get("spec"))
    sources = [spec.get("source"), *_items(spec.get("sources"))]
    sync = _mapping(_mapping(application.get("status")).get("sync"))
    return {
        # Nothing, for Argo CD, is the newest of the default branch.
        *(
            "HEAD" if not each.get("targetRevision") else str(each["targetRevision"])
            for each in sources
            if isinstance(each, dict)
        ),
        *_listed(sync.get("revision")),
        *_listed(sync.get("revisions")),
    }


def _listed(value: object) -> set[str]:
    """Return the revisions in *value*, one or a list of them; nothing is none."""
    return {str(each) for each in (*_items(value), value) if each and not isinstance(each, list)}


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Object:
    return value if isinstance(value, dict) else {}
