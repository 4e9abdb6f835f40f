"""A real HTTP server that takes messages, fails or hangs as configured."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """A receiver that gives the configured answers in order; then 200."""

    url: str = ""
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    hang: threading.Event = field(default_factory=threading.Event)
    """Set while nobody is kept waiting."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on a free port of loopback."""
    told = Receiver()
    told.hang.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.got.append((dict(self.headers), body))
            told.hang.wait(10)
            status, headers = told.answers.pop(0) if told.answers else (200, {})
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield told
        told.hang.set()
        server.shutdown()
        thread.join()
