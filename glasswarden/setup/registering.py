"""Registering the webhook with the API server, and taking it off again.

On the way in, nothing is registered that does not answer yet; on the way out, everything that can
stop a write goes first, before the pods that would have answered.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from certs.configurations import OURS, ROOT, Configuration
from glasswarden.cluster.objects import ClusterError, Object, Objects
from glasswarden.policy.policy import Policy
from glasswarden.setup.installation import Installation, NotInstalled
from webhook.floor import NAME as FLOOR

_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"

FLOORS: Final = (
    # A binding first: a policy without one refuses nothing.
    f"{ROOT}/validatingadmissionpolicybindings/{FLOOR}",
    f"{ROOT}/validatingadmissionpolicies/{FLOOR}",
)

RESTORING: Final = f"{_RBAC}/clusterrolebindings/glasswarden-certs-restore"
"""The keeper's right to create what was deleted: it goes before what it would put back."""

_LABEL: Final = "labelSelector=app.kubernetes.io/name%3Dglasswarden"
_MONITORING: Final = "/apis/monitoring.coreos.com/v1"
_CERT_MANAGER: Final = "/apis/cert-manager.io/v1"
NAMESPACED: Final = (
    ("/apis/apps/v1", "statefulsets"),
    ("/apis/apps/v1", "deployments"),
    ("/api/v1", "services"),
    ("/apis/policy/v1", "poddisruptionbudgets"),
    ("/apis/networking.k8s.io/v1", "networkpolicies"),
    ("/api/v1", "configmaps"),
    (_MONITORING, "servicemonitors"),
    (_MONITORING, "podmonitors"),
    (_MONITORING, "prometheusrules"),
    (_CERT_MANAGER, "certificates"),
    (_CERT_MANAGER, "issuers"),
    (_RBAC, "rolebindings"),
    (_RBAC, "roles"),
    ("/api/v1", "serviceaccounts"),
)
CLUSTER_WIDE: Final = (
    (_RBAC, "clusterrolebindings"),
    (_RBAC, "clusterroles"),
    ("/apis/scheduling.k8s.io/v1", "priorityclasses"),
)
MADE: Final = (
    ("/api/v1", "secrets", "glasswarden-certs"),
    ("/api/v1", "secrets", "glasswarden-authority"),
    ("/apis/coordination.k8s.io/v1", "leases", "glasswarden-certs"),
    ("/apis/coordination.k8s.io/v1", "leases", "glasswarden-correlator"),
)
"""What the programs and cert-manager made. By name: our label could be on the keys' Secret too."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What registering would change about one configuration."""

    which: Configuration
    configuration: Object
    current: Object | None

    @property
    def says(self) -> str:
        """What would be done, in a sentence."""
        name = f"{self.which.resource}/{self.which.name}"
        if self.current is None:
            return f"create {name}"
        return f"update {name}" if self._differs else f"{name} is as it should be"

    @property
    def _differs(self) -> bool:
        wanted = self.configuration
        current = self.current or {}
        ours = ("annotations", "labels")
        return any(
            current.get("metadata", {}).get(key) != wanted["metadata"].get(key) for key in ours
        ) or current.get("webhooks") != wanted.get("webhooks")


def plans(installation: Installation, policy: Policy, now: datetime) -> list[Plan]:
    """Return what registering would change. Raises `NotInstalled` where a part is not ready."""
    certificates = installation.certificates()
    state = certificates.read()
    if state is None:
        raise NotInstalled(f"{certificates.place} is not there; is the keeper running?")
    if state.expires <= now:
        raise NotInstalled(f"the certificate in {certificates.place} has expired")
    if not installation.ready_addresses():
        place = f"{installation.namespace}/{installation.service}"
        raise NotInstalled(f"no webhook is ready behind Service {place}")
    # As the API server would store it, with its defaults and without empty lists: what differs then
    # really differs.
    return [
        Plan(
            which,
            installation.objects.apply(which.path, wanted, dry_run=True),
            installation.registered(which),
        )
        for which, wanted in installation.registrations(policy).items()
    ]


def register(installation: Installation, policy: Policy) -> None:
    """Have the API server ask the webhook from now on."""
    for which, wanted in installation.registrations(policy).items():
        installation.objects.apply(which.path, wanted)


def take_off(objects: Objects) -> Iterator[str]:
    """Remove everything that can stop a write; yield what was there."""
    for path in (RESTORING, *FLOORS, *(each.path for each in OURS)):
        if objects.delete(path):
            yield "/".join(path.split("/")[-2:])


def still_asking(objects: Objects, namespace: str) -> list[str]:
    """Return webhook configurations, under whichever name, that would ask us."""
    return [
        f"{each.resource}/{configuration['metadata']['name']}"
        for each in OURS
        for configuration in objects.get(f"{ROOT}/{each.resource}")["items"]
        if any(_asks_us(entry, namespace) for entry in configuration.get("webhooks") or ())
    ]


def _asks_us(entry: Object, namespace: str) -> bool:
    service = entry["clientConfig"].get("service") or {}
    ours: bool = service.get("namespace") == namespace or entry["name"].endswith(".glasswarden.io")
    return ours


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of a part, or of the look for such parts."""

    part: str
    refused: str = ""
    """Why it may still be there."""


def remove_parts(objects: Objects, namespace: str) -> Iterator[Removal]:
    """Remove what was installed, records and their keys excepted; yield what became of each part.

    One that cannot be removed, or looked for, keeps none of the others.
    """
    places = [(f"{root}/namespaces/{namespace}", name) for root, name in NAMESPACED]
    for root, resource in (*places, *CLUSTER_WIDE):
        try:
            found = _ours(objects, f"{root}/{resource}")
        except ClusterError as error:
            yield Removal(resource, str(error))
            continue
        for each in found:
            yield from _removal(objects, root, resource, each["metadata"]["name"])
    for root, resource, name in MADE:
        yield from _removal(objects, f"{root}/namespaces/{namespace}", resource, name)


def _removal(objects: Objects, root: str, resource: str, name: str) -> Iterator[Removal]:
    part = f"{resource}/{name}"
    try:
        if objects.delete(f"{root}/{part}"):
            yield Removal(part)
    except ClusterError as error:
        yield Removal(part, str(error))


def _ours(objects: Objects, collection: str) -> list[Object]:
    """Return the objects that carry our label; none where the cluster does not know the kind."""
    found = objects.get_or_none(f"{collection}?{_LABEL}")
    items: list[Object] = found["items"] if found is not None else []
    return items
