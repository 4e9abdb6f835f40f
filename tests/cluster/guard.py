"""The product on a control plane: the real webhook, registered with the real API server."""

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from certs.files import Folder, issue_into
from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.writes import attempts_in, writes_of
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Caller
from tests.cluster.processes import LOOPBACK, free_ports, with_free_ports
from webhook.reloading import make_key_folder

GLASSWARDEN = (sys.executable, "-m", "glasswarden")


@dataclass(frozen=True, slots=True)
class Guard:
    """A webhook that runs and is asked by the API server."""

    cluster: ControlPlane
    certificates: Folder
    port: int
    ledger: str
    policy: Path
    keys: Path

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    def records(self) -> list[Attempt]:
        """Return what the ledger holds, oldest first."""
        with closing(open_ledger(self.ledger)) as ledger:
            return list(attempts_in(ledger))

    def writes(self) -> list[Attempt]:
        """Return what was written, oldest first, each by its last try.

        The API server tries a PATCH again, and asks again, where a reconciler wrote in between.
        """
        return [tries[-1] for tries in writes_of(self.records())]

    def records_in(self, namespace: str) -> list[Attempt]:
        """Return those that are about objects in *namespace*."""
        return [record for record in self.records() if record.namespace == namespace]

    def ledger_files(self) -> list[Path]:
        """Return the files that the ledger consists of."""
        database = Path(self.ledger.removeprefix("sqlite://"))
        return sorted(database.parent.glob(f"{database.name}*"))


@contextmanager
def guarding(
    cluster: ControlPlane,
    folder: Path,
    policy: str = "",
    role: str | None = "view",
    account: Caller | None = None,
    options: Sequence[str] = (),
) -> Iterator[Guard]:
    """Run the webhook in *folder* and register it with *cluster*; undo both at the end."""
    with (
        serving(cluster, folder, policy, role, account, options) as guard,
        registered(cluster, guard.url, guard.certificates.authority, guard.policy),
    ):
        yield guard


@contextmanager
def serving(
    cluster: ControlPlane,
    folder: Path,
    policy: str = "",
    role: str | None = "view",
    account: Caller | None = None,
    options: Sequence[str] = (),
    program: Sequence[str] = GLASSWARDEN,
) -> Iterator[Guard]:
    """Run the webhook in *folder*, without telling the API server.

    *policy* is the policy file below its head, *role* what the webhook itself may do, unless it
    runs as an *account* that exists already; *options* are more of the command's, and count for
    more than those that it is given anyhow.
    """
    certificates = issue_into(folder / "certs", [LOOPBACK], datetime.now(UTC))
    (folder / "policy.yaml").write_text(f"apiVersion: glasswarden.io/v1\nkind: Policy\n{policy}")
    account = account or cluster.service_account(
        "glasswarden", f"webhook-{role or 'without-rights'}", role
    )
    ledger = f"sqlite://{folder.resolve()}/ledger.db"
    make_key_folder(folder / "keys", datetime.now(UTC))
    with cluster.new_processes() as processes:

        def start() -> int:
            [port] = free_ports(1)
            command = [*program, "webhook", "--bind", f"{LOOPBACK}:{port}"]
            command += ["--certs", str(certificates.path), "--ledger", ledger]
            command += ["--policy", str(folder / "policy.yaml")]
            command += ["--keys", str(folder / "keys"), "--kubeconfig", str(account.kubeconfig)]
            command += options
            webhook = processes.start("glasswarden", command)
            webhook.wait_until(lambda: is_ready(port, certificates.authority))
            return port

        port = with_free_ports(start)
        files = (folder / "policy.yaml", folder / "keys")
        yield Guard(cluster, certificates, port, ledger, *files)


@contextmanager
def registered(
    cluster: ControlPlane, url: str, authority: Path, policy: Path | None = None
) -> Iterator[None]:
    """Have the API server ask *url*, by the configurations that the product itself prints."""
    configuration = webhook_configuration(url, authority, policy)
    cluster.apply(configuration)
    try:
        yield
    finally:
        cluster.as_("admin").kubectl("delete", "-f", "-", stdin=configuration)


def webhook_configuration(
    url: str, authority: Path, policy: Path | None = None
) -> dict[str, object]:
    """Return what `glasswarden manifests webhooks` prints."""
    command = [*GLASSWARDEN, "manifests", "webhooks", "--url", url]
    command += ["--certs", str(authority.parent)]
    command += ["--policy", str(policy)] if policy else []
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    configuration: dict[str, object] = json.loads(printed)
    return configuration


def is_ready(port: int, authority: Path) -> bool:
    """Return whether a webhook on *port* answers and proves itself by *authority*."""
    context = ssl.create_default_context(cafile=authority)
    connection = http.client.HTTPSConnection(LOOPBACK, port, context=context, timeout=5)
    with closing(connection):
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
