"""Fleet: the object set that its agent writes on everything it deploys.

Other programs of Rancher's family apply through the same library (k3s its Addons, for instance) and
leave the same keys; the kind of the set's owner tells them apart.
"""

from typing import Final

from glasswarden.kube.engines.engine import (
    Drift,
    Engine,
    Mark,
    Owner,
    Subject,
    service_accounts,
)

NAME: Final = "fleet"

_PREFIX: Final = "objectset.rio.cattle.io/"
HASH: Final = _PREFIX + "hash"
SET_ID: Final = _PREFIX + "id"
OWNER_GVK: Final = _PREFIX + "owner-gvk"
OWNER_NAME: Final = _PREFIX + "owner-name"
OWNER_NAMESPACE: Final = _PREFIX + "owner-namespace"

_FLEET_GROUP: Final = "fleet.cattle.io/"
_AGENT_NAMESPACES: Final = ("-cattle-fleet-system", "-cattle-fleet-local-system")


def _claim(subject: Subject) -> Owner | None:
    if not subject.label(HASH):
        return None
    gvk = subject.annotation(OWNER_GVK)
    if gvk and not gvk.startswith(_FLEET_GROUP):
        return None
    if name := subject.annotation(OWNER_NAME):
        kind = gvk.partition("Kind=")[2] or "Bundle"
        return Owner(NAME, name, subject.annotation(OWNER_NAMESPACE) or None, kind)
    set_id = subject.annotation(SET_ID)
    return Owner(NAME, _bundle_of(set_id), None, "Bundle") if set_id else None


def _bundle_of(set_id: str) -> str:
    # `applied.GetSetID` in Fleet joins a prefix, the bundle's id and the agent's namespace.
    bundle = set_id.removeprefix("default-")
    for suffix in _AGENT_NAMESPACES:
        bundle = bundle.removesuffix(suffix)
    return bundle


ENGINE: Final = Engine(
    name=NAME,
    title="Fleet",
    marks=(
        Mark("label", HASH),
        *(Mark("annotation", key) for key in (SET_ID, OWNER_GVK, OWNER_NAME, OWNER_NAMESPACE)),
    ),
    signs=(Mark("label", HASH),),
    claim=_claim,
    controllers=(
        *service_accounts("cattle-fleet-system", "*"),
        *service_accounts("cattle-fleet-local-system", "*"),
    ),
    kinds={"fleet.cattle.io": ("Bundle", "BundleDeployment", "GitRepo", "HelmOp")},
    drift=Drift(
        field_managers=frozenset({"fleetagent", "fleet-agent", "rancher"}),
        manager_prefixes=("fleet",),
        domains=frozenset({"fleet.cattle.io", "objectset.rio.cattle.io"}),
    ),
)
