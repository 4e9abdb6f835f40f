"""A client of the webhook, for tests that speak TLS to it."""

import http.client
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from certs.files import Folder
from glasswarden.demo.stage import HOST, Stage, open_stage


@contextmanager
def open_webhook(folder: Path, *options: str) -> Iterator[Stage]:
    """Run `glasswarden webhook` with *options*, and all that it needs in *folder*."""

    def start(bind: str, certificates: Folder) -> list[str]:
        arguments = ("--bind", bind, "--certs", str(certificates.path))
        return ["glasswarden", "webhook", *arguments, "--ledger", ledger_in(folder), *options]

    with open_stage(folder, start) as running:
        yield running


def ledger_in(folder: Path) -> str:
    """Return the address of the ledger that a webhook keeps in *folder*."""
    return f"sqlite://{folder.resolve()}/ledger.db"


@contextmanager
def connected(stage: Stage) -> Iterator[http.client.HTTPSConnection]:
    """Return an open connection to *stage*'s webhook."""
    context = ssl.create_default_context(cafile=stage.certificates.authority)
    with closing(http.client.HTTPSConnection(HOST, stage.port, context=context, timeout=10)) as one:
        yield one


def post(stage: Stage, body: bytes, content_type: str = "application/json") -> tuple[int, bytes]:
    """Send *body* as a review; return the status and what came back."""
    with connected(stage) as connection:
        connection.request("POST", stage.path_of(), body, {"Content-Type": content_type})
        response = connection.getresponse()
        return response.status, response.read()
