"""Where an installation's parts are in a cluster, and what they say."""

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import urllib3

from certs.configurations import OURS, Configuration
from certs.folder import Folder
from certs.secret import Secret
from glasswarden.cluster.objects import ClusterUnreachable, Object, Objects
from glasswarden.policy.policy import Policy
from webhook.policy_file import parse_policy
from webhook.registration import Endpoint, Service, configurations

VALIDATING, MUTATING = OURS
SECONDS: Final = 10.0


class NotInstalled(Exception):
    """A part that must be there first is missing; the message says which."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The names of its parts: those of the manifests, unless somebody chose others."""

    objects: Objects
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
        return Secret(self.objects, self.namespace, self.secret)

    def policy(self) -> Policy:
        """Return the policy that the webhook's pods mount."""
        found = self.objects.get_or_none(
            f"/api/v1/namespaces/{self.namespace}/configmaps/{self.policy_map}"
        )
        text = ((found or {}).get("data") or {}).get("policy.yaml")
        if text is None:
            raise NotInstalled(f"ConfigMap {self.namespace}/{self.policy_map} has no policy.yaml")
        return parse_policy(Path(f"{self.policy_map}/policy.yaml"), text)

    def registered(self, configuration: Configuration = VALIDATING) -> Object | None:
        """Return the webhook configuration, if there is one."""
        return self.objects.get_or_none(configuration.path)

    def ready_addresses(self) -> list[str]:
        """Return the addresses of webhook pods that are ready to be asked."""
        label = f"kubernetes.io/service-name={self.service}"
        root = f"/apis/discovery.k8s.io/v1/namespaces/{self.namespace}/endpointslices"
        return [
            address
            for each in self.objects.get(f"{root}?labelSelector={label}")["items"]
            for endpoint in each.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready")
            for address in endpoint["addresses"]
        ]

    def correlators(self) -> list[Object]:
        """Return the Deployments of the correlator."""
        labels = "app.kubernetes.io/name=glasswarden,app.kubernetes.io/component=correlator"
        root = f"/apis/apps/v1/namespaces/{self.namespace}/deployments"
        found: list[Object] = self.objects.get(f"{root}?labelSelector={quote(labels)}")["items"]
        return found

    def figures(self, registered: Object) -> str:
        """Return what the webhook's `/metrics` says: of one pod, by way of the API server."""
        clients = [entry["clientConfig"] for entry in registered.get("webhooks") or ()]
        urls = [each for each in clients if "url" in each]
        if urls:
            return _read_metrics(urls[0]["url"], urls[0].get("caBundle", ""))
        service = f"https:{self.service}:https"
        return self.objects.text(
            f"/api/v1/namespaces/{self.namespace}/services/{service}/proxy/metrics"
        )

    def hosts(self, registered: Object | None) -> set[str]:
        """Return the names by which the API server reaches the webhook."""
        clients = [entry["clientConfig"] for entry in (registered or {}).get("webhooks") or ()]
        urls = {urlsplit(each["url"]).hostname or "" for each in clients if "url" in each}
        return urls or {f"{self.service}.{self.namespace}.svc"}

    def registrations(self, policy: Policy) -> dict[Configuration, Object]:
        """Return the webhook configurations that follow from *policy* and the certificates.

        In the order they are to be applied: who is refused must be able to break the glass.
        """
        certificates = self.certificates()
        state = certificates.read()
        if state is None:
            raise NotInstalled(f"{certificates.place} is not there; is the keeper running?")
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
            token = Secret(self.objects, self.namespace, self.caller).read_caller_token()
        if not token:
            raise NotInstalled(f"neither {self.secret} nor {self.caller} holds a caller-token")
        return token


def _read_metrics(url: str, bundle: str) -> str:
    """Return the figures of a webhook outside the cluster, trusting what the API server trusts."""
    place = urlsplit(url)
    try:
        trusted = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
        response = urllib3.PoolManager(ssl_context=trusted, retries=False).request(
            "GET", f"https://{place.netloc}/metrics", timeout=SECONDS
        )
    except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        raise ClusterUnreachable(f"{place.netloc}: {error}") from error
    return response.data.decode(errors="replace")
