"""The real API server delivers its audit events to a running intake, and nothing is lost."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from certs.files import Folder, issue_into
from correlator.audit.intake import EventStore, new_audit_intake
from glasswarden.audit.files import ReportFlaw, read_events
from tests.cluster.applications import deployment
from tests.cluster.bypasses import applied
from tests.cluster.controlplane import ControlPlane
from tests.cluster.correlating import Correlator, episodes
from tests.cluster.guard import GLASSWARDEN
from tests.cluster.processes import LOOPBACK, free_ports, with_free_ports
from tests.cluster.retries import eventually

TOKEN = "the-token-of-the-api-server"
NEXT_TOKEN = "the-token-that-comes-after"


class Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


@contextmanager
def listening(store: EventStore, tokens: Path, certificates: Folder, port: int) -> Iterator[None]:
    """Serve the intake on *port*, as the service does: behind TLS."""
    app = Flask("intake")
    app.register_blueprint(new_audit_intake(store, tokens))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    server = make_server(
        LOOPBACK, port, app, threaded=True, request_handler=Quiet, ssl_context=context
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def webhook_flags(folder: Path, server: str, authority: Path) -> tuple[str, ...]:
    """Return what makes an API server deliver its events to *server*, as an administrator would."""
    trusted = {"certificate-authority": str(authority)}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "intake", "cluster": {"server": f"{server}/audit", **trusted}}],
        "users": [{"name": "apiserver", "user": {"token": TOKEN}}],
        "contexts": [{"name": "x", "context": {"cluster": "intake", "user": "apiserver"}}],
        "current-context": "x",
    }
    file = folder / "audit-webhook.json"
    file.write_text(json.dumps(kubeconfig))
    return (
        f"--audit-webhook-config-file={file}",
        "--audit-webhook-batch-max-wait=200ms",
        "--audit-webhook-initial-backoff=2s",
    )


@pytest.mark.cluster
@pytest.mark.usefixtures("_programs")
def test_intake_stores_every_event_of_the_audit_log_file_once(tmp_path: Path) -> None:
    """Also what happened while the intake was unavailable for a moment."""
    certificates = issue_into(tmp_path / "certs", [LOOPBACK], datetime.now(UTC))
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{NEXT_TOKEN}\n{TOKEN}\n")
    [port] = free_ports(1)
    flags = webhook_flags(tmp_path, f"https://{LOOPBACK}:{port}", certificates.authority)
    place = (tokens, certificates, port)
    with closing(EventStore(tmp_path / "events")) as store, ExitStack() as stack:
        with listening(store, *place):
            cluster = stack.enter_context(ControlPlane(apiserver_flags=flags))
        cluster.as_("admin").kubectl("create", "namespace", "while-it-is-away")
        with listening(store, *place):
            written = {event["auditID"] for event in cluster.audit_events()}
            eventually(
                lambda: written <= set(ids_in(store, lambda _: None)),
                "what was not delivered at once",
            )
        assert len(written) > 100
        assert len(ids_in(store)) == len(set(ids_in(store)))
        assert (store.age_at(datetime.now(UTC)) or timedelta.max) < timedelta(minutes=5)


def refuse(flaw: object) -> None:
    raise AssertionError(flaw)


def ids_in(store: EventStore, tell: ReportFlaw = refuse) -> list[str]:
    """Return the audit ids of what was kept: the harness's policy has one stage of each request."""
    return [event.audit_id for event in read_events(store.files(), tell)]


@pytest.mark.cluster
@pytest.mark.usefixtures("_programs")
def test_service_finds_a_bypass_in_delivered_events(tmp_path: Path) -> None:
    """A member of the emergency group bypasses the webhook, and is an open finding soon after."""
    tokens, policy = tmp_path / "tokens", tmp_path / "policy.yaml"
    tokens.write_text(TOKEN)
    head = "apiVersion: glasswarden.io/v1\nkind: Policy\n"
    policy.write_text(f"{head}cluster: test\nemergencyGroup: leads\n")
    ledger = f"sqlite://{tmp_path.resolve()}/ledger.db"
    [port] = free_ports(1)
    certificates = issue_into(tmp_path / "certs", [LOOPBACK], datetime.now(UTC))
    flags = webhook_flags(tmp_path, f"https://{LOOPBACK}:{port}", certificates.authority)
    with ControlPlane(apiserver_flags=flags) as cluster, cluster.new_processes() as processes:
        command = [*GLASSWARDEN, "correlator", "--ledger", ledger, "--policy", str(policy)]
        command += ["--kubeconfig", str(cluster.kubeconfig("admin")), "--interval", "2s"]
        command += ["--audit-listen", f"{LOOPBACK}:{port}", "--audit-tokens", str(tokens)]
        command += ["--audit-folder", str(tmp_path / "audit")]
        command += ["--audit-certs", str(certificates.path)]

        def start() -> Correlator:
            [own] = free_ports(1)
            listen = ["--listen", f"{LOOPBACK}:{own}"]
            started = Correlator(processes.start("correlator", [*command, *listen]), own)
            started.process.wait_until(lambda: started.is_ready)
            return started

        service = with_free_ports(start)
        flux = cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")
        applied(flux, deployment("web", "default"))
        cluster.as_("lead").kubectl("scale", "deployment/web", "--replicas=9", "-n", "default")
        [episode] = eventually(lambda: episodes(ledger), "the write to be found", seconds=60)
        assert (episode.last.source, episode.last.actor) == ("audit", "lead")
        assert episode.last.field == "/spec/replicas"
        assert service.metric("glasswarden_audit_batches_total", outcome="kept")
        assert service.metric("glasswarden_audit_event_timestamp_seconds")
