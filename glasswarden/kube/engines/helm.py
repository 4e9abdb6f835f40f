"""Plain Helm: the release that an object was installed by.

Opt-in: ``helm upgrade`` by hand is a way of working, not drift, unless the policy says otherwise.
"""

from typing import Final

from glasswarden.kube.engines import cel, settings
from glasswarden.kube.engines.engine import (
    CelClaim,
    Drift,
    Engine,
    Mark,
    Owner,
    Subject,
    first_annotation,
)
from glasswarden.kube.objects import Object, annotations_of

NAME: Final = "helm"
MANAGED_BY: Final = Mark("label", "app.kubernetes.io/managed-by", "Helm")
RELEASE_NAME: Final = Mark("annotation", "meta.helm.sh/release-name")
RELEASE_NAMESPACE: Final = Mark("annotation", "meta.helm.sh/release-namespace")

_HOOK: Final = "helm.sh/hook"
_CRD_HOOKS: Final = frozenset({"crd-install"})


def _claim(subject: Subject) -> Owner | None:
    # Helm adopts and upgrades an object only when all three are there (`checkOwnership` in Helm).
    name, namespace = subject.read(RELEASE_NAME), subject.read(RELEASE_NAMESPACE)
    if subject.read(MANAGED_BY) != MANAGED_BY.value or not name or not namespace:
        return None
    return Owner(NAME, name, namespace)


def is_helm_hook(obj: Object) -> bool:
    """Return whether Helm takes *obj* for a hook."""
    hooks = annotations_of(obj).get(_HOOK)
    return isinstance(hooks, str) and bool(set(hooks.split(",")) - _CRD_HOOKS)


def _is_hook(obj: Object, _kind: str) -> bool:
    return is_helm_hook(obj)


def _keeps(live: Object) -> str:
    return first_annotation(live, ("helm.sh/resource-policy", "keep"))


ENGINE: Final = Engine(
    name=NAME,
    title="Helm",
    marks=(MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE),
    signs=(RELEASE_NAME,),
    claim=_claim,
    cel_claims=(
        CelClaim(
            cel.has_values(MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE),
            cel.value_of(RELEASE_NAME),
            cel.value_of(RELEASE_NAMESPACE),
        ),
    ),
    options=settings.OptionalEngine,
    drift=Drift(
        field_managers=frozenset({"helm"}),
        manager_prefixes=("helm",),
        people=frozenset({"helm"}),
        domains=frozenset({"meta.helm.sh"}),
        keys=frozenset({MANAGED_BY.key}),
        is_hook=_is_hook,
        keeps=_keeps,
    ),
)
