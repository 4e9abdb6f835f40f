"""Infers the command behind a write, and detects Argo CD operations that deploy something else.

The verb is a hint only: a client can choose any field manager.

The `operation` field of an Application requests one sync. `argocd app sync` writes the source of
the Application and the revision that Argo CD has already resolved, which only brings the sync
forward. A sync with another revision, source or manifest deploys something that neither the spec
nor Git declares.
"""

from typing import Any, Final

from glasswarden.kube.objects import Object

_VERBS: Final = {
    "kubectl-client-side-apply": "apply",
    "kubectl-set": "set",
    "kubectl-rollout": "rollout",
}
_PREFIX: Final = "kubectl-"


def infer_verb(operation: str, subresource: str, manager: str, manager_operation: str) -> str:
    """Return the kubectl verb of a write, such as ``edit`` or ``scale``; empty if unknown."""
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


def is_diverting_sync(application: Object, operation: object) -> bool:
    """Return whether *operation* would deploy something other than *application* declares."""
    sync = _as_mapping(operation).get("sync")
    if not isinstance(sync, dict):
        return False
    spec = _as_mapping(application.get("spec"))
    revisions = {*_revisions_in(sync.get("revision")), *_revisions_in(sync.get("revisions"))}
    others = [
        sync[field] for field in ("source", "sources") if sync.get(field) not in (None, [], {})
    ]
    return (
        bool(sync.get("manifests"))
        or not revisions <= _followed_revisions_of(application)
        or any(each not in (spec.get("source"), spec.get("sources")) for each in others)
    )


def _followed_revisions_of(application: Object) -> set[str]:
    """Return the revisions that *application* names, and those that Argo CD resolved them to."""
    spec = _as_mapping(application.get("spec"))
    sources = [spec.get("source"), *_as_list(spec.get("sources"))]
    sync = _as_mapping(_as_mapping(application.get("status")).get("sync"))
    return {
        # Argo CD reads an empty revision as the newest of the default branch.
        *(
            "HEAD" if not each.get("targetRevision") else str(each["targetRevision"])
            for each in sources
            if isinstance(each, dict)
        ),
        *_revisions_in(sync.get("revision")),
        *_revisions_in(sync.get("revisions")),
    }


def _revisions_in(value: object) -> set[str]:
    """Return the revisions in *value*, which is one revision or a list."""
    return {str(each) for each in (*_as_list(value), value) if each and not isinstance(each, list)}


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_mapping(value: object) -> Object:
    return value if isinstance(value, dict) else {}
