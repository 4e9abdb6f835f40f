"""A listener between the API server and the webhook: it passes everything on and keeps it."""

import http.client
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from glasswarden.demo.story import Door, Exchange
from tests.cluster.guard import Guard
from tests.cluster.processes import LOOPBACK


@dataclass
class Wiretap:
    """Passes reviews on to the webhook and keeps them with their answers."""

    guard: Guard
    heard: list[Exchange] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)
    """What stood before the body of each request."""

    @property
    def reviews(self) -> list[bytes]:
        """What the API server asked, in that order."""
        return [bytes(each.review) for each in self.heard]

    def forward(self, path: str, body: bytes) -> tuple[int, bytes]:
        time = datetime.now(UTC)
        context = ssl.create_default_context(cafile=self.guard.certificates.authority)
        connection = http.client.HTTPSConnection(LOOPBACK, self.guard.port, context=context)
        with closing(connection):
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            status, answer = response.status, response.read()
        if status == http.HTTPStatus.OK:
            door: Door = "mutate" if path.startswith("/mutate/") else "validate"
            self.heard.append(Exchange(time, door, msgspec.Raw(body), msgspec.Raw(answer)))
        return status, answer


@contextmanager
def tapped(guard: Guard) -> Iterator[tuple[Wiretap, str]]:
    """Listen before *guard* until the end of the block; return the listener and its address."""
    tap = Wiretap(guard)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            fields = (f"{name}: {value}\r\n".encode() for name, value in self.headers.items())
            tap.heads.append(b"".join((f"{self.requestline}\r\n".encode(), *fields, b"\r\n")))
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = tap.forward(self.path, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing: the story is what is to be seen."""

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(guard.certificates.certificate, guard.certificates.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield tap, f"https://{LOOPBACK}:{server.server_port}"
        finally:
            server.shutdown()
