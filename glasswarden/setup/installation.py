"""The parts of an installation in a cluster: reads, registers and removes them.

`register` registers nothing that does not answer yet. `take_off` removes everything that can stop a
write, before `remove_parts` removes the pods that would have answered. Records and keys stay.
"""

import base64
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import urllib3

from certs.configurations import OURS, ROOT, Configuration
from certs.files import Folder, Secret
from glasswarden.cluster.client import ApiServer, ApiServerError, Unreachable
from glasswarden.kube.objects import Object
from glasswarden.policy.policy import Policy
from glasswarden.policy_file import parse_policy
from webhook.registration.configurations import Endpoint, Service, configurations
from webhook.registration.fallback_policy import NAME as FALLBACK_POLICY

VALIDATING, MUTATING = OURS
SECONDS: Final = 10.0
ADVICE: Final = "is the certificate controller running?"


class NotInstalled(Exception):
    """A part that must be there first is missing; the message says which."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The names of its parts: those of the manifests, unless somebody chose others."""

    server: ApiServer
    namespace: str = "glasswarden"
    service: str = "glasswarden"
    secret: str = "glasswarden-certs"  # noqa: S105 - a name
    policy_map: str = "glasswarden-policy"
    caller: str = "glasswarden-caller"
    """The Secret with the caller token, where cert-manager keeps the certificates."""
    certificate: str = "glasswarden"
    """cert-manager's Certificate."""

    folder: Path | None = None
    """Where the certificates are if not in the Secret: beside a webhook outside the cluster."""

    def certificates(self) -> Secret | Folder:
        """Return where the certificates are kept."""
        if self.folder is not None:
            return Folder(self.folder)
        return Secret(self.server, self.namespace, self.secret)

    def policy(self) -> Policy:
        """Return the policy that the webhook's pods mount."""
        found = self.server.get_or_none(
            f"/api/v1/namespaces/{self.namespace}/configmaps/{self.policy_map}"
        )
        text = ((found or {}).get("data") or {}).get("policy.yaml")
        if text is None:
            raise NotInstalled(f"ConfigMap {self.namespace}/{self.policy_map} has no policy.yaml")
        return parse_policy(Path(f"{self.policy_map}/policy.yaml"), text)

    def configuration_in_force(self, configuration: Configuration = VALIDATING) -> Object | None:
        """Return the webhook configuration, if there is one."""
        return self.server.get_or_none(configuration.path)

    def ready_addresses(self) -> list[str]:
        """Return the addresses of webhook pods that are ready to be asked."""
        label = f"kubernetes.io/service-name={self.service}"
        root = f"/apis/discovery.k8s.io/v1/namespaces/{self.namespace}/endpointslices"
        return [
            address
            for each in self.server.get(f"{root}?labelSelector={label}")["items"]
            for endpoint in each.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready")
            for address in endpoint["addresses"]
        ]

    def correlators(self) -> list[Object]:
        """Return the Deployments of the correlator."""
        labels = "app.kubernetes.io/name=glasswarden,app.kubernetes.io/component=correlator"
        root = f"/apis/apps/v1/namespaces/{self.namespace}/deployments"
        found: list[Object] = self.server.get(f"{root}?labelSelector={quote(labels)}")["items"]
        return found

    def read_metrics(self, registered: Object) -> str:
        """Return what the webhook's `/metrics` serves: of one pod, through the API server."""
        clients = [entry["clientConfig"] for entry in registered.get("webhooks") or ()]
        urls = [each for each in clients if "url" in each]
        if urls:
            return _read_metrics(urls[0]["url"], urls[0].get("caBundle", ""))
        service = f"https:{self.service}:https"
        return self.server.text(
            f"/api/v1/namespaces/{self.namespace}/services/{service}/proxy/metrics"
        )

    def hosts(self, registered: Object | None) -> set[str]:
        """Return the names by which the API server reaches the webhook."""
        clients = [entry["clientConfig"] for entry in (registered or {}).get("webhooks") or ()]
        urls = {urlsplit(each["url"]).hostname or "" for each in clients if "url" in each}
        return urls or {f"{self.service}.{self.namespace}.svc"}

    def registrations(self, policy: Policy) -> dict[Configuration, Object]:
        """Return the webhook configurations that follow from *policy* and the certificates.

        In the order they are to be applied: who is denied must be able to use break-glass.
        """
        certificates = self.certificates()
        state = certificates.read()
        if state is None:
            raise NotInstalled(f"{certificates.location} does not exist; {ADVICE}")
        service = Service(self.namespace, self.service)
        endpoint = Endpoint(service, state.bundle, self._caller_token(certificates))
        validating, mutating = configurations(policy, endpoint)
        if isinstance(certificates, Secret) and certificates.is_cert_managers():
            # Its cainjector keeps the caBundle from then on.
            source = f"{self.namespace}/{self.certificate}"
            for each in (validating, mutating):
                each["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] = source
        return {MUTATING: mutating, VALIDATING: validating}

    def _caller_token(self, certificates: Secret | Folder) -> str:
        """Return the token; cert-manager's Secret has none, so it has one of its own."""
        token = certificates.read_caller_token()
        if not token and self.folder is None:
            token = Secret(self.server, self.namespace, self.caller).read_caller_token()
        if not token:
            raise NotInstalled(f"neither {self.secret} nor {self.caller} holds a caller-token")
        return token


def _read_metrics(url: str, bundle: str) -> str:
    """Return the metrics of a webhook outside the cluster, trusting what the API server trusts."""
    place = urlsplit(url)
    try:
        trusted = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
        response = urllib3.PoolManager(ssl_context=trusted, retries=False).request(
            "GET", f"https://{place.netloc}/metrics", timeout=SECONDS
        )
    except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        raise Unreachable(f"{place.netloc}: {error}") from error
    return response.data.decode(errors="replace")


_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"

FALLBACK_POLICIES: Final = (
    # A binding first: a policy without one denies nothing.
    f"{ROOT}/validatingadmissionpolicybindings/{FALLBACK_POLICY}",
    f"{ROOT}/validatingadmissionpolicies/{FALLBACK_POLICY}",
)

RESTORING: Final = f"{_RBAC}/clusterrolebindings/glasswarden-certs-restore"
"""The certificate controller's right to restore what was deleted: removed first."""

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
    def description(self) -> str:
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
        raise NotInstalled(f"{certificates.location} does not exist; {ADVICE}")
    if state.expires <= now:
        raise NotInstalled(f"the certificate in {certificates.location} has expired")
    if not installation.ready_addresses():
        place = f"{installation.namespace}/{installation.service}"
        raise NotInstalled(f"no webhook is ready behind Service {place}")
    # As the API server would store it, with its defaults and without empty lists: what differs then
    # really differs.
    return [
        Plan(
            which,
            installation.server.apply(which.path, wanted, dry_run=True),
            installation.configuration_in_force(which),
        )
        for which, wanted in installation.registrations(policy).items()
    ]


def register(installation: Installation, policy: Policy) -> None:
    """Have the API server ask the webhook from now on."""
    for which, wanted in installation.registrations(policy).items():
        installation.server.apply(which.path, wanted)


def take_off(server: ApiServer) -> Iterator[str]:
    """Remove everything that can stop a write; yield what was there."""
    for path in (RESTORING, *FALLBACK_POLICIES, *(each.path for each in OURS)):
        if server.delete(path):
            yield "/".join(path.split("/")[-2:])


def still_asking(server: ApiServer, namespace: str) -> list[str]:
    """Return webhook configurations, under whichever name, that would ask us."""
    return [
        f"{each.resource}/{configuration['metadata']['name']}"
        for each in OURS
        for configuration in server.get(f"{ROOT}/{each.resource}")["items"]
        if any(_asks_us(entry, namespace) for entry in configuration.get("webhooks") or ())
    ]


def _asks_us(entry: Object, namespace: str) -> bool:
    service = entry["clientConfig"].get("service") or {}
    ours: bool = service.get("namespace") == namespace or entry["name"].endswith(".glasswarden.io")
    return ours


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of a part, or of all parts of a kind."""

    part: str
    error: str = ""
    """Why it may still exist."""


def remove_parts(server: ApiServer, namespace: str) -> Iterator[Removal]:
    """Remove what was installed, records and their keys excepted; yield what became of each part.

    A part that cannot be removed or listed does not stop the removal of the others.
    """
    places = [(f"{root}/namespaces/{namespace}", name) for root, name in NAMESPACED]
    for root, resource in (*places, *CLUSTER_WIDE):
        try:
            found = _ours(server, f"{root}/{resource}")
        except ApiServerError as error:
            yield Removal(resource, str(error))
            continue
        for each in found:
            yield from _removal(server, root, resource, each["metadata"]["name"])
    for root, resource, name in MADE:
        yield from _removal(server, f"{root}/namespaces/{namespace}", resource, name)


def _removal(server: ApiServer, root: str, resource: str, name: str) -> Iterator[Removal]:
    part = f"{resource}/{name}"
    try:
        if server.delete(f"{root}/{part}"):
            yield Removal(part)
    except ApiServerError as error:
        yield Removal(part, str(error))


def _ours(server: ApiServer, collection: str) -> list[Object]:
    """Return the objects that carry our label; none where the cluster does not know the kind."""
    found = server.get_or_none(f"{collection}?{_LABEL}")
    items: list[Object] = found["items"] if found is not None else []
    return items
