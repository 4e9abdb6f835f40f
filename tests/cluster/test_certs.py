"""Certificates on the real API server: rotated under load, and no call fails."""

import base64
import http.client
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from certs.configurations import OURS
from certs.files import Folder, Secret
from certs.rotation import Phase
from glasswarden.cluster.client import ApiServer
from tests.chaos import Note
from tests.cluster.api import api_server
from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import (
    GLASSWARDEN,
    guarding,
    is_ready,
    registered,
    webhook_configuration,
)
from tests.cluster.kubectl import Caller
from tests.cluster.kubelet import mounted
from tests.cluster.load import repeating, writing
from tests.cluster.processes import LOOPBACK, Process, Processes, free_ports, with_free_ports
from tests.cluster.retries import eventually

MANIFESTS = Path(__file__).parents[2] / "manifests"
NAMESPACE, SECRET = "glasswarden", "glasswarden-certs"
ROTATIONS = 20
WRITERS = 3
QUICK = ("--interval", "0.5s", "--settle", "1s", "--overlap", "4s")
POLICY = """apiVersion: glasswarden.io/v1
kind: Policy
delegations:
  - {name: load, actors: [developer], fields: [/metadata/annotations/**]}
"""


@pytest.fixture(scope="module")
def account(cluster: ControlPlane) -> Caller:
    """Return the keeper's service account, with the rights that the manifests give it."""
    caller = cluster.service_account(NAMESPACE, "glasswarden-certs")
    rbac = str(MANIFESTS / "base" / "rbac-certs.yaml")
    cluster.as_("admin").kubectl("apply", "--server-side", "-n", NAMESPACE, "-f", rbac)
    return caller


@pytest.fixture
def secret(cluster: ControlPlane) -> Iterator[Secret]:
    """Return the Secret, empty at the start."""
    objects = api_server(cluster.kubeconfig("admin"))
    yield Secret(objects, NAMESPACE, SECRET)
    objects.delete(f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}")


def glasswarden(*arguments: str) -> str:
    return subprocess.run(
        [*GLASSWARDEN, *arguments], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def start_keeper(processes: Processes, name: str, account: Caller, *options: str) -> Process:
    def start() -> Process:
        [port] = free_ports(1)
        command = [*GLASSWARDEN, "certs", "run", "--secret", f"{NAMESPACE}/{SECRET}"]
        command += ["--host", LOOPBACK, "--kubeconfig", str(account.kubeconfig)]
        command += ["--identity", name, "--listen", f"{LOOPBACK}:{port}", *QUICK, *options]
        process = processes.start(f"certs-{name}", command)
        return process.wait_until(lambda: is_well(port))

    return with_free_ports(start)


def is_well(port: int) -> bool:
    with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=5)) as connection:
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False


def shaking_hands(objects: ApiServer, port: int, seen: set[bytes]) -> Callable[[], None]:
    """Return an act that connects anew, trusting what the configuration says at that moment."""

    def shake() -> None:
        [bundle] = {
            entry["clientConfig"]["caBundle"] for entry in objects.get(OURS[0].path)["webhooks"]
        }
        context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
        connection = http.client.HTTPSConnection(LOOPBACK, port, context=context, timeout=10)
        with closing(connection):
            connection.connect()
            seen.add(connection.sock.getpeercert(binary_form=True) or b"")
            connection.request("GET", "/healthz")
            connection.getresponse().read()

    return shake


def serve(processes: Processes, folder: Path, certificates: Path) -> int:
    (folder / "policy.yaml").write_text(POLICY)
    command = [*GLASSWARDEN, "webhook", "--certs", str(certificates)]
    command += ["--ledger", f"sqlite://{folder.resolve()}/ledger.db"]
    command += ["--policy", str(folder / "policy.yaml"), "--workers", "2"]

    def start() -> int:
        [port] = free_ports(1)
        webhook = processes.start("glasswarden", [*command, "--bind", f"{LOOPBACK}:{port}"])
        webhook.wait_until(lambda: is_ready(port, Folder(certificates).authority))
        return port

    return with_free_ports(start)


def is_steady(secret: Secret) -> bool:
    state = secret.read()
    return state is not None and state.phase is Phase.STEADY


@pytest.mark.e2e
@pytest.mark.timeout(900)
def test_twenty_rotations_under_load_fail_no_call(
    cluster: ControlPlane,
    account: Caller,
    secret: Secret,
    flux_account: Caller,
    namespace: str,
    tmp_path: Path,
    chaos: Note,
) -> None:
    admin = str(cluster.kubeconfig("admin"))
    place = ("--secret", f"{NAMESPACE}/{SECRET}", "--kubeconfig", admin)
    glasswarden("certs", "issue", *place, "--host", LOOPBACK)
    names = [f"web-{number}" for number in range(WRITERS)]
    for name in names:
        manifest = by_flux(deployment(name, namespace), "shop")
        manifest["spec"]["paused"] = True
        flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    with ExitStack() as stack:
        folder = stack.enter_context(mounted(cluster, NAMESPACE, SECRET, tmp_path / "mounted"))
        processes = stack.enter_context(cluster.new_processes())
        port = serve(processes, tmp_path, folder)
        url = f"https://{LOOPBACK}:{port}"
        stack.enter_context(registered(cluster, url, folder / "ca.crt", tmp_path / "policy.yaml"))
        observer = api_server(cluster.kubeconfig("admin"))
        before = changes(observer)
        for replica in ("one", "two"):
            start_keeper(processes, replica, account)
        seen: set[bytes] = set()
        people = [api_server(cluster.kubeconfig("developer")) for _ in names]
        acts = [writing(each, namespace, name) for each, name in zip(people, names, strict=True)]
        *tallies, hands = stack.enter_context(repeating(*acts, shaking_hands(observer, port, seen)))
        for number in range(1, ROTATIONS + 1):
            glasswarden("certs", "rotate", *place, "--begin-only")
            eventually(lambda: is_steady(secret), f"the end of rotation {number}", seconds=60)
            eventually(lambda: len(seen) > number, f"certificate {number} to be met")  # noqa: B023
        # The Secret says that it is over before the configuration does.
        eventually(lambda: changes(observer) - before >= 2 * ROTATIONS, "the last bundle")
        changed = changes(observer) - before
    writes = sum(tally.calls for tally in tallies)
    failures = [failure for tally in (*tallies, hands) for failure in tally.failures]
    chaos(
        "certificates rotated, authorities too",
        rotations=ROTATIONS,
        guarded_writes=writes,
        new_handshakes=hands.calls,
        failed=len(failures),
    )
    assert failures == []
    assert len(seen) == ROTATIONS + 1
    assert writes > ROTATIONS * 10
    # One authority comes, one goes; two keepers that fought would change it more often.
    assert changed == 2 * ROTATIONS


def changes(objects: ApiServer) -> int:
    """Return how often the webhook configuration was changed."""
    generation: int = objects.get(OURS[0].path)["metadata"]["generation"]
    return generation


def test_two_rotate_commands_complete_a_manual_rotation(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """As the runbook says, for a cluster whose certificate controller does not work."""
    with guarding(cluster, tmp_path) as guard:
        admin = ("--kubeconfig", str(cluster.kubeconfig("admin")))
        rotate = ("certs", "rotate", "--dir", str(guard.certificates.path), "--settle", "0s")
        served = guard.certificates.certificate.read_bytes()
        assert "publishing" in glasswarden(*rotate, *admin)
        assert guard.certificates.certificate.read_bytes() == served
        assert "overlapping" in glasswarden(*rotate, *admin)
        assert guard.certificates.certificate.read_bytes() != served
        objects = api_server(cluster.kubeconfig("admin"))
        for entry in objects.get(OURS[0].path)["webhooks"]:
            bundle = base64.b64decode(entry["clientConfig"]["caBundle"])
            assert bundle == guard.certificates.authority.read_bytes()
            assert bundle.count(b"BEGIN CERTIFICATE") == 2
        assert "steady" in glasswarden(*rotate, *admin, "--overlap", "0s")


@pytest.fixture
def configuration(
    cluster: ControlPlane, tmp_path: Path
) -> Iterator[tuple[ApiServer, dict[str, object]]]:
    """Return a registered webhook configuration, which a test may delete."""
    glasswarden("certs", "issue", "--dir", str(tmp_path / "certs"), "--host", LOOPBACK)
    objects = api_server(cluster.kubeconfig("admin"))
    manifest = webhook_configuration("https://127.0.0.1:9", tmp_path / "certs" / "ca.crt")
    cluster.apply(manifest)
    validating = manifest["items"][0]  # type: ignore[index]
    yield objects, validating
    for each in OURS:
        objects.delete(each.path)


@pytest.mark.usefixtures("secret")
def test_a_deleted_configuration_is_reported_and_stays_deleted(
    cluster: ControlPlane, account: Caller, configuration: tuple[ApiServer, dict[str, object]]
) -> None:
    objects, _ = configuration
    with cluster.new_processes() as processes:
        keeper = start_keeper(processes, "reporting", account)
        eventually(lambda: "certificates kept" in keeper.log.read_text(), "the first pass")
        objects.delete(OURS[0].path)
        eventually(lambda: "webhook configuration missing" in keeper.log.read_text(), "a report")
    assert objects.get_or_none(OURS[0].path) is None


@pytest.mark.usefixtures("secret")
def test_deleted_configuration_is_restored_with_the_restore_option(
    cluster: ControlPlane, account: Caller, configuration: tuple[ApiServer, dict[str, object]]
) -> None:
    objects, manifest = configuration
    grant = str(MANIFESTS / "components" / "restore" / "rbac.yaml")
    cluster.as_("admin").kubectl("apply", "--server-side", "-f", grant)
    with cluster.new_processes() as processes:
        keeper = start_keeper(processes, "restoring", account, "--restore", "glasswarden/webhook")
        eventually(lambda: "certificates kept" in keeper.log.read_text(), "the first pass")
        objects.delete(OURS[0].path)
        restored = eventually(lambda: objects.get_or_none(OURS[0].path), "the configuration")
    cluster.as_("admin").kubectl("delete", "-f", grant)
    assert restored is not None
    assert restored["metadata"]["annotations"] == manifest["metadata"]["annotations"]  # type: ignore[index]
    for entry in restored["webhooks"]:
        assert entry["clientConfig"]["service"]["name"] == "webhook"


@pytest.mark.usefixtures("secret")
def test_stopped_certificate_controller_releases_its_lease_at_once(
    cluster: ControlPlane, account: Caller
) -> None:
    with cluster.new_processes() as processes:
        first = start_keeper(processes, "first", account)
        eventually(lambda: holder(cluster) == "first", "the first to lead")
        start_keeper(processes, "second", account)
        first.stop()
        # Well before the lease would have run out.
        eventually(lambda: holder(cluster) == "second", "the second to lead", seconds=15)


def holder(cluster: ControlPlane) -> str:
    leases = cluster.get("leases", "-n", NAMESPACE)["items"]
    return next((lease["spec"]["holderIdentity"] for lease in leases), "")


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    ("verb", "what", "allowed"),
    [
        ("update", "secret/glasswarden-certs", "yes"),
        ("get", "secret/glasswarden-keys", "no"),
        ("list", "secrets", "no"),
        ("delete", "secret/glasswarden-certs", "no"),
        ("patch", "validatingwebhookconfiguration/glasswarden", "yes"),
        ("patch", "validatingwebhookconfiguration/kyverno", "no"),
        ("delete", "validatingwebhookconfiguration/glasswarden", "no"),
        ("create", "validatingwebhookconfigurations", "no"),
        ("get", "deployments", "no"),
    ],
)
def test_certificate_controller_has_exactly_the_rights_it_needs(
    cluster: ControlPlane, verb: str, what: str, allowed: str
) -> None:
    user = f"--as=system:serviceaccount:{NAMESPACE}:glasswarden-certs"
    asked = cluster.as_("admin").kubectl(
        "auth", "can-i", verb, what, "-n", NAMESPACE, user, check=False
    )
    assert asked.stdout.strip() == allowed
