"""gunicorn's HTTP protocol, which also reports whether the caller has a certificate.

It serves all connections if the fast HTTP path is turned off. If not, it serves the requests that
the fast HTTP path does not parse. Both use the limit and the content types of this module.
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from gunicorn.asgi.protocol import ASGIProtocol

from webhook.server.tls import SHOWN

Reply = Callable[[bytes], Awaitable[tuple[HTTPStatus, bytes]]]
"""Answers a review: returns the status and the content for a body."""

LARGEST_BODY: Final = 8 * 1024 * 1024
"""etcd limits an object to 1.5 MiB; a review contains two of them, as JSON, and more fields."""


def content_type_of(status: HTTPStatus) -> bytes:
    """Return the content type of an answer with *status*: a review, or a text with the reason."""
    return b"application/json" if status == HTTPStatus.OK else b"text/plain; charset=utf-8"


class WebhookProtocol(ASGIProtocol):  # type: ignore[misc]  # gunicorn ships no types
    """One connection, served by gunicorn."""

    _has_certificate = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin; the TLS handshake has verified the certificate of the caller, if it sent one."""
        tls = transport.get_extra_info("ssl_object")
        self._has_certificate = tls is not None and tls.getpeercert(binary_form=True) is not None
        super().connection_made(transport)

    def _build_http_scope(self, *arguments: object) -> dict[str, Any]:
        """Add to the ASGI scope whether the caller has a certificate; gunicorn does not."""
        scope: dict[str, Any] = super()._build_http_scope(*arguments)
        scope[SHOWN] = self._has_certificate
        return scope
