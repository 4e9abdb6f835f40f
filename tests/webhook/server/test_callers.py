"""Only the API server may call: by its secret path, or by its certificate."""

import http.client
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.files import Folder, issue_into
from glasswarden.demo.stage import HOST
from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.writes import attempts_in
from tests.cluster.pki import Authority
from tests.cluster.processes import Processes, free_ports, with_free_ports
from tests.webhook.builders import a_review

pytestmark = pytest.mark.slow  # starts real servers

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def authority() -> Authority:
    """Return the authority that the API server's client certificate comes from."""
    return Authority()


@pytest.fixture
def webhook(tmp_path: Path, authority: Authority) -> Iterator[tuple[int, Folder]]:
    """Return the port and the files of a webhook that asks for client certificates."""
    files = issue_into(tmp_path / "certs", [HOST], datetime.now(UTC))
    (tmp_path / "client-ca.crt").write_bytes(authority.pair.certificate)
    with Processes(tmp_path / "logs", os.environ) as processes:

        def start() -> int:
            [port] = free_ports(1)
            command = [sys.executable, "-m", "glasswarden", "webhook", "--bind", f"{HOST}:{port}"]
            command += ["--certs", str(files.path), "--ledger", f"sqlite://{tmp_path}/ledger.db"]
            command += ["--client-ca", str(tmp_path / "client-ca.crt")]
            processes.start("webhook", command).wait_until(lambda: accepts(port))
            return port

        yield with_free_ports(start), files


def accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def post(port: int, files: Folder, client: ssl.SSLContext) -> tuple[int, bytes]:
    connection = http.client.HTTPSConnection(HOST, port, context=client, timeout=20)
    try:
        path = f"/validate/{files.caller_token.read_text()}"
        connection.request("POST", path, a_review(), JSON)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def client_of(files: Folder, authority: Authority | None, folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.authority)
    if authority is not None:
        authority.issue_client("kube-apiserver", ()).write(folder, "client")
        context.load_cert_chain(folder / "client.crt", folder / "client.key")
    return context


def test_caller_with_a_certificate_of_the_authority_is_served(
    webhook: tuple[int, Folder], authority: Authority, tmp_path: Path
) -> None:
    port, files = webhook
    status, body = post(port, files, client_of(files, authority, tmp_path))
    assert status == 200
    assert b'"allowed":false' in body


def test_caller_with_a_certificate_of_another_authority_is_rejected(
    webhook: tuple[int, Folder], tmp_path: Path
) -> None:
    port, files = webhook
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        post(port, files, client_of(files, Authority(), tmp_path))
    assert no_records(tmp_path)


def test_caller_without_a_certificate_is_rejected_despite_the_right_path(
    webhook: tuple[int, Folder], tmp_path: Path
) -> None:
    port, files = webhook
    assert post(port, files, client_of(files, None, tmp_path))[0] == 403
    assert no_records(tmp_path)


@pytest.mark.parametrize("page", ["/healthz", "/readyz", "/metrics"])
def test_probes_and_metrics_need_no_client_certificate(
    webhook: tuple[int, Folder], page: str, tmp_path: Path
) -> None:
    """Kubelet has none; the probes and the monitor of the manifests use HTTPS."""
    port, files = webhook
    client = client_of(files, None, tmp_path)
    with closing(http.client.HTTPSConnection(HOST, port, context=client, timeout=20)) as one:
        one.request("GET", page)
        assert one.getresponse().status == 200


def no_records(folder: Path) -> bool:
    with closing(open_ledger(f"sqlite://{folder}/ledger.db")) as ledger:
        return list(attempts_in(ledger)) == []
