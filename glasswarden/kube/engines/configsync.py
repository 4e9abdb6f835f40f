"""Config Sync: management enabled, and a resource id that is the object's own."""

from typing import Final

from glasswarden.kube.engines.engine import (
    Drift,
    Engine,
    Mark,
    Owner,
    Subject,
    first_annotation,
    service_accounts,
)
from glasswarden.kube.objects import Object, Ref

NAME: Final = "configsync"
MANAGED: Final = "configmanagement.gke.io/managed"
RESOURCE_ID: Final = "configsync.gke.io/resource-id"
MANAGER: Final = "configsync.gke.io/manager"
DECLARED_VERSION: Final = "configsync.gke.io/declared-version"

_ROOT_SCOPE: Final = ":root"
_ROOT_NAMESPACE: Final = "config-management-system"


def resource_id_of(ref: Ref) -> str:
    """Return the id that Config Sync gives to *ref* (``core.GKNN`` in kpt-config-sync)."""
    scope = (ref.namespace, ref.name) if ref.namespace else (ref.name,)
    return "_".join((ref.group, ref.kind.lower(), *scope))


def _claim(subject: Subject) -> Owner | None:
    if subject.annotation(MANAGED) != "enabled":
        return None
    # `ManagedByConfigSync` in kpt-config-sync: another id means that the annotations were copied.
    if subject.annotation(RESOURCE_ID) != resource_id_of(subject.ref):
        return None
    return _sync(subject.annotation(MANAGER))


def _sync(manager: str) -> Owner:
    # `declared.ResourceManager`: the scope is `:root` or a namespace, and the name follows only
    # when it is not the default one. Before several syncs existed there was no annotation at all.
    scope, _, name = manager.partition("_")
    if scope in ("", _ROOT_SCOPE):
        return Owner(NAME, name or "root-sync", _ROOT_NAMESPACE, "RootSync")
    return Owner(NAME, name or "repo-sync", scope, "RepoSync")


def _keeps(live: Object) -> str:
    return first_annotation(live, ("client.lifecycle.config.k8s.io/deletion", "detach"))


ENGINE: Final = Engine(
    name=NAME,
    title="Config Sync",
    marks=(
        Mark("annotation", MANAGED),
        Mark("annotation", RESOURCE_ID),
        Mark("annotation", MANAGER),
        Mark("label", DECLARED_VERSION),
    ),
    signs=(Mark("annotation", RESOURCE_ID),),
    claim=_claim,
    controllers=(
        *service_accounts(_ROOT_NAMESPACE, "*"),
        *service_accounts("resource-group-system", "*"),
    ),
    kinds={"configsync.gke.io": ("RepoSync", "RootSync")},
    drift=Drift(
        field_managers=frozenset({"configsync.gke.io", "configsync", "reconciler"}),
        manager_prefixes=("configsync",),
        domains=frozenset({"configmanagement.gke.io", "configsync.gke.io", "config.k8s.io"}),
        keys=frozenset({"app.kubernetes.io/managed-by"}),
        keeps=_keeps,
    ),
)
