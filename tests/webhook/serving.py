"""A client of the webhook, for tests that speak TLS to it."""

import http.client
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager

from glasswarden.demo.stage import HOST, Stage


@contextmanager
def connected(stage: Stage) -> Iterator[http.client.HTTPSConnection]:
    """Return an open connection to *stage*'s webhook."""
    context = ssl.create_default_context(cafile=stage.certificates.authority)
    with closing(http.client.HTTPSConnection(HOST, stage.port, context=context, timeout=10)) as one:
        yield one


def post(stage: Stage, body: bytes, content_type: str = "application/json") -> tuple[int, bytes]:
    """Send *body* as a review; return the status and what came back."""
    with connected(stage) as connection:
        connection.request("POST", stage.path, body, {"Content-Type": content_type})
        response = connection.getresponse()
        return response.status, response.read()
