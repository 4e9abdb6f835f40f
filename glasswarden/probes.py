"""The HTTP server for probes and Prometheus, in threads of the program that they ask about.

A caller is given a limited time, and there is a limited number of them: one that is slow, or
hostile, cannot take the program's memory. It serves any WSGI application, so that the correlator's
audit intake has the same limits. Only GET and HEAD are answered on the pages of `new_pages`.
"""

import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from glasswarden.reloaded import Reloaded, state_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

SECONDS: Final = 10
"""How long a caller may be silent."""
MOST_CALLERS: Final = 64

log = structlog.get_logger()


class AddressUnusable(Exception):
    """The address cannot be listened on; choose another, or stop who holds it."""


class _Handler(WSGIRequestHandler):
    timeout = SECONDS

    def log_message(self, *_: object) -> None:
        """Log nothing: probes come every few seconds."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = MOST_CALLERS

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._room = threading.BoundedSemaphore(MOST_CALLERS)
        self._certificate: Reloaded[None] | None = None
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind without asking for our name, which may take a name server's time."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def encrypt(self, folder: Path) -> None:
        """Speak TLS from now on; raises `AddressUnusable` where there is no certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._certificate = _certificate_in(folder, context)
        try:
            self._certificate.load()
        except OSError as error:  # ssl.SSLError is one
            self.server_close()
            raise AddressUnusable(f"no certificate in {folder}: {error}") from error
        # The handshake takes place in the caller's own thread: a slow one delays nobody else.
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def get_request(self) -> tuple[Any, Any]:
        """Return the next caller, who is shown the certificate of this moment."""
        # Before the connection is accepted, which gives it what the context holds.
        if self._certificate is not None:
            self._certificate.refresh()
        return super().get_request()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Give the caller a thread, or close the connection."""
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
        """Log in one line that a connection failed."""
        log.info("connection failed", reason=str(sys.exception()))


def _certificate_in(folder: Path, context: ssl.SSLContext) -> Reloaded[None]:
    """Return the pair in *folder*, loaded into *context* whenever it changes.

    Connections that are open keep what they have; while the files are half renewed, so do new ones.
    """
    certificate, key = folder / "tls.crt", folder / "tls.key"

    def load(_: object) -> None:
        # Tried on a context of its own first: a half-written pair must not spoil the live one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        context.load_cert_chain(certificate, key)

    return Reloaded(
        None,
        lambda: state_of(certificate, key),
        load,
        on_error=lambda reason: log.warning("certificate not renewed", reason=reason),
        quoted=(OSError,),
    )


@contextmanager
def serving(
    pages: "WSGIApplication", listen: str, certificate: Path | None = None
) -> Iterator[int]:
    """Serve *pages* at *listen*, HOST:PORT, to the end of the block; yield the port.

    With a folder for *certificate*, `tls.crt` and `tls.key`, callers are answered over TLS.
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
    """The health of a program."""

    def is_well(self) -> bool:
        """Return whether turns still end."""

    def why_unready(self) -> str:
        """Return what is missing until it does its part; empty where nothing is."""


class _Answer(NamedTuple):
    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


def new_pages(health: Health, registry: CollectorRegistry) -> "WSGIApplication":
    """Return `/healthz` and `/readyz` of a program, and `/metrics` from *registry*."""
    pages: dict[str, Callable[[], _Answer]] = {
        "/healthz": lambda: _probe("" if health.is_well() else "no turn has ended for too long"),
        "/readyz": lambda: _probe(health.why_unready()),
        "/metrics": lambda: _Answer(HTTPStatus.OK, generate_latest(registry), CONTENT_TYPE_LATEST),
    }

    def answer(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        status, body, content_type = _answer_to(environ, pages)
        headers = [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        start(f"{status.value} {status.phrase}", headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return answer


def _answer_to(environ: "WSGIEnvironment", pages: dict[str, Callable[[], _Answer]]) -> _Answer:
    page = pages.get(environ["PATH_INFO"])
    if page is None:
        return _Answer(HTTPStatus.NOT_FOUND, b"not found\n")
    if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
        return _Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"only GET and HEAD\n")
    return page()


def _probe(complaint: str) -> _Answer:
    status = HTTPStatus.SERVICE_UNAVAILABLE if complaint else HTTPStatus.OK
    return _Answer(status, f"{complaint or 'ok'}\n".encode())
