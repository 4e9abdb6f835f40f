"""Certificates are judged by OpenSSL, through a real handshake, not by reading them back."""

import socket
import ssl
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from certs.authority import BACKDATE, new_authority, new_serving_pair
from certs.files import Folder, issue_into

NOW = datetime.now(UTC)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "glasswarden.glasswarden.svc"])
def test_a_client_that_trusts_the_authority_accepts_the_certificate(
    tmp_path: Path, host: str
) -> None:
    folder = issue_into(tmp_path, ["127.0.0.1", "localhost", "glasswarden.glasswarden.svc"], NOW)
    assert handshake(folder, folder.authority, host) == "TLSv1.3"


def test_client_rejects_a_host_name_that_the_certificate_lacks(tmp_path: Path) -> None:
    folder = issue_into(tmp_path, ["localhost"], NOW)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(folder, folder.authority, "elsewhere.example")


def test_client_rejects_a_certificate_of_another_authority(tmp_path: Path) -> None:
    folder = issue_into(tmp_path / "ours", ["localhost"], NOW)
    other = issue_into(tmp_path / "theirs", ["localhost"], NOW)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(folder, other.authority, "localhost")


def test_client_rejects_an_expired_certificate(tmp_path: Path) -> None:
    folder = issue_into(tmp_path, ["localhost"], NOW - timedelta(days=91))
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        handshake(folder, folder.authority, "localhost")


def test_a_serving_certificate_never_outlives_its_authority() -> None:
    authority = new_authority(NOW, timedelta(days=10))
    serving = new_serving_pair(authority, ["localhost"], NOW, timedelta(days=90))
    assert serving.certificate.not_valid_after_utc == authority.certificate.not_valid_after_utc


def test_certificate_is_backdated_for_clients_with_a_late_clock() -> None:
    authority = new_authority(NOW)
    assert authority.certificate.not_valid_before_utc <= NOW - BACKDATE + timedelta(seconds=1)


def test_serving_certificate_cannot_sign_certificates() -> None:
    serving = new_serving_pair(new_authority(NOW), ["localhost"], NOW).certificate
    assert not serving.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not serving.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_private_key_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    folder = issue_into(tmp_path, ["localhost"], NOW)
    assert stat.S_IMODE(folder.key.stat().st_mode) == 0o600


def test_second_issue_replaces_key_certificate_and_authority(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in files(issue_into(tmp_path, ["localhost"], NOW))]
    second = [path.read_bytes() for path in files(issue_into(tmp_path, ["localhost"], NOW))]
    assert all(one != other for one, other in zip(first, second, strict=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ca.crt",
        "caller-token",
        "rotation.json",
        "tls.crt",
        "tls.key",
    ]


def test_the_caller_token_stays_when_certificates_are_renewed(tmp_path: Path) -> None:
    """Webhook configurations in clusters contain it."""
    first = issue_into(tmp_path, ["localhost"], NOW).caller_token.read_text()
    assert issue_into(tmp_path, ["localhost"], NOW).caller_token.read_text() == first
    assert len(first) == 32


def files(folder: Folder) -> tuple[Path, Path, Path]:
    return folder.authority, folder.certificate, folder.key


def handshake(folder: Folder, authority: Path, name: str) -> str | None:
    """Return the TLS version agreed on by a server with *folder* and a client of *authority*."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder.certificate, folder.key)
    client = ssl.create_default_context(cafile=authority)
    near, far = socket.socketpair()
    thread = threading.Thread(target=_accept, args=(server, far))
    thread.start()
    try:
        with near, client.wrap_socket(near, server_hostname=name) as connection:
            return connection.version()
    finally:
        thread.join()


def _accept(context: ssl.SSLContext, connection: socket.socket) -> None:
    with connection:
        try:
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1)
        except (ssl.SSLError, OSError):
            return  # what went wrong is the client's to tell
