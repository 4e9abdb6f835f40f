"""Replicas of the real webhook and what they share, with the API server asking them."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from certs.files import Folder, issue_into
from glasswarden.cluster.client import ApiServer
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.open import open_ledger
from tests.cluster.api import api_server
from tests.cluster.applications import by_argocd, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import registered
from tests.cluster.kubectl import Caller
from tests.cluster.processes import LOOPBACK
from tests.cluster.retries import eventually
from tests.webhook.workers import Webhook
from webhook.reloading import make_key_folder

HEAD = "apiVersion: glasswarden.io/v1\nkind: Policy\n"
POLICY = f"""{HEAD}
emergencyGroup: leads
delegations:
  - {{name: load, actors: [developer], fields: [/metadata/annotations/tick]}}
breakGlass:
  rules:
    - {{name: on-call, groups: [oncall], ticket: 'INC-[0-9]+'}}
"""
RECORD = "guard.glasswarden.io/record"


@dataclass(frozen=True, slots=True)
class Stand:
    """What replicas of one webhook share: certificates, policy, keys, ledger, account."""

    cluster: ControlPlane
    folder: Path
    ledger: str
    certificates: Folder
    account: Caller

    @property
    def policy(self) -> Path:
        return self.folder / "policy.yaml"

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    def replica(
        self, name: str = "one", *arguments: str | Path, environment: dict[str, str] | None = None
    ) -> Webhook:
        """Return a replica that is not started yet."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        options: list[str | Path] = ["--policy", self.policy, "--keys", self.keys]
        if "--kubeconfig" not in arguments:
            options += ["--kubeconfig", self.account.kubeconfig]
        options += ["--spool", folder / "spool", *arguments]
        return Webhook(
            folder,
            self.ledger,
            *options,
            certificates=self.certificates,
            environment=environment,
        )

    @contextmanager
    def asked_at(self, port: int) -> Iterator[None]:
        """Have the API server ask on *port*; wait until it does."""
        url = f"https://{LOOPBACK}:{port}"
        with registered(self.cluster, url, self.certificates.authority, self.policy):
            developer = self.objects("developer")
            eventually(lambda: is_asked(developer), "the API server to ask")
            yield

    def objects(self, who: str) -> ApiServer:
        """Return the cluster as *who* sees it, for one thread."""
        return api_server(self.cluster.kubeconfig(who))

    def witnessed(self, namespace: str) -> list[str]:
        """Return the records that the audit log witnesses about objects in *namespace*."""
        return [
            event["annotations"][RECORD]
            for event in self.cluster.audit_events()
            if event.get("objectRef", {}).get("namespace") == namespace
            and RECORD in event.get("annotations", {})
        ]

    def lost(self, namespace: str) -> list[str]:
        """Return those of them that the ledger does not hold; it must be sound otherwise."""
        with closing(open_ledger(self.ledger)) as ledger:
            assert list(Fsck(ledger, Trust()).find_faults()) == []
            held = {row.columns.id for row in ledger.rows_since()}
        return [record for record in self.witnessed(namespace) if record not in held]


def new_stand(cluster: ControlPlane, folder: Path, policy: str = POLICY, ledger: str = "") -> Stand:
    """Return a stand in *folder*, with a ledger of its own unless one is named."""
    certificates = issue_into(folder / "certs", [LOOPBACK], datetime.now(UTC))
    (folder / "policy.yaml").write_text(policy)
    make_key_folder(folder / "keys", datetime.now(UTC))
    account = cluster.service_account("glasswarden", "webhook-view", "view")
    address = ledger or f"sqlite://{folder.resolve()}/ledger.db"
    return Stand(cluster, folder, address, certificates, account)


def is_asked(objects: ApiServer) -> bool:
    """Return whether the webhook was asked about a dry run, and answered."""
    marked = by_flux(deployment("probe", "default"), "shop")
    warnings = objects.rehearse_create("/apis/apps/v1/namespaces/default/deployments", marked)
    return any("Flux" in warning for warning in warnings)


def deploy(caller: Caller, namespace: str, *names: str) -> None:
    """Have Flux's or Argo CD's own account apply Deployments that roll nothing out."""
    marks = by_argocd if "argocd" in caller.name else by_flux
    for name in names:
        manifest = marks(deployment(name, namespace), "shop")
        manifest["spec"]["paused"] = True
        caller.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)


def kubeconfig_through(kubeconfig: Path, port: int, copy: Path) -> Path:
    """Return a copy of *kubeconfig* that reaches the API server by another port of loopback."""
    content = json.loads(kubeconfig.read_text())
    for each in content["clusters"]:
        each["cluster"]["server"] = f"https://{LOOPBACK}:{port}"
    copy.write_text(json.dumps(content))
    return copy


def bundle_of(folder: Folder) -> str:
    """Return the authority as a webhook configuration holds it."""
    return base64.b64encode(folder.authority.read_bytes()).decode()
