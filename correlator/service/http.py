"""A small HTTP server for a Flask application, in threads of the process that makes the passes.

Probes and Prometheus ask it, now and then. A caller is given a limited time, and there is a limited
number of them: one that is slow, or hostile, cannot take the program's memory.

What the correlator answers: probes, Prometheus, and whatever else is mounted.
"""

import socket
import ssl
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from flask import Blueprint, Flask, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from correlator.service import metrics

SECONDS: Final = 10
"""How long a caller may be silent."""
MOST_CALLERS: Final = 64

log = structlog.get_logger()


class AddressUnusable(Exception):
    """The address cannot be listened on; choose another, or stop who holds it."""


class _Handler(WSGIRequestHandler):
    timeout = SECONDS

    def log_message(self, *_: object) -> None:
        """Say nothing: probes come every few seconds."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = MOST_CALLERS

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._room = threading.BoundedSemaphore(MOST_CALLERS)
        self._certificate: _Certificate | None = None
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind without asking for our name, which may take a name server's time."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def encrypt(self, folder: Path) -> None:
        """Speak TLS from now on; raises `AddressUnusable` where there is no certificate."""
        try:
            self._certificate = _Certificate(folder)
        except (OSError, ssl.SSLError) as error:
            self.server_close()
            raise AddressUnusable(f"no certificate in {folder}: {error}") from error
        # Hands are shaken in the caller's own thread: one that is slow holds nobody up.
        self.socket = self._certificate.context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def get_request(self) -> tuple[Any, Any]:
        """Return the next caller, who is shown the certificate of this moment."""
        caller = super().get_request()
        if self._certificate is not None:
            with suppress(OSError, ssl.SSLError):  # half renewed: the old one serves
                self._certificate.renew()
        return caller

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Give the caller a thread, or turn it away."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Answer; then there is room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, *_: object) -> None:
        """Say in a line that a connection ended badly."""
        log.info("connection failed", reason=str(sys.exception()))


class _Certificate:
    """A certificate for the server, read again when its file changes."""

    def __init__(self, folder: Path) -> None:
        self._certificate, self._key = folder / "tls.crt", folder / "tls.key"
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._loaded = 0
        self.renew()

    def renew(self) -> None:
        """Take up what the files hold now; connections that are open keep what they have."""
        written = self._certificate.stat().st_mtime_ns
        if written != self._loaded:
            self.context.load_cert_chain(self._certificate, self._key)
            self._loaded = written


@contextmanager
def serving(pages: Flask, listen: str, certificate: Path | None = None) -> Iterator[int]:
    """Serve *pages* at *listen*, HOST:PORT, to the end of the block; yield the port.

    With a folder for *certificate*, `tls.crt` and `tls.key`, callers are spoken to by TLS.
    """
    host, _, port = listen.rpartition(":")
    try:
        server = _Server(host.strip("[]"), int(port))
    except (OSError, OverflowError, ValueError) as error:
        raise AddressUnusable(f"cannot listen on {listen}: {error}") from error
    if certificate is not None:
        server.encrypt(certificate)
    server.set_app(pages)
    with server:
        threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


class Health(Protocol):
    """How the program is."""

    def is_well(self) -> bool:
        """Tell whether turns still end."""

    def why_unready(self) -> str:
        """Return what is missing until it does its part; empty where nothing is."""


def new_pages(health: Health, mounted: Iterable[Blueprint] = ()) -> Flask:
    """Return the Flask application; *mounted* are others' pages."""
    pages = Flask("correlator", static_folder=None)

    @pages.get("/healthz")
    def healthz() -> Response:
        return _answer("" if health.is_well() else "no turn has ended for too long")

    @pages.get("/readyz")
    def readyz() -> Response:
        return _answer(health.why_unready())

    @pages.get("/metrics")
    def figures() -> Response:
        return Response(generate_latest(metrics.REGISTRY), content_type=CONTENT_TYPE_LATEST)

    for each in mounted:
        pages.register_blueprint(each)
    return pages


def _answer(complaint: str) -> Response:
    status = HTTPStatus.SERVICE_UNAVAILABLE if complaint else HTTPStatus.OK
    return Response(f"{complaint or 'ok'}\n", status, content_type="text/plain")
