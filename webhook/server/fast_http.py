"""The fast HTTP path: parses and answers a review of the API server without a framework.

gunicorn's protocol supports any client and any application, and takes longer for a request than the
verdict does. Go's HTTP client always sends a webhook the same few header lines, and this module
parses exactly those. It hands any other request, with everything that follows on the connection,
over to gunicorn's parser and the ASGI application (`protocol`).

`--no-fast-http` turns this module off. The answers are the same; only the time differs.
"""

import asyncio
import re
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Protocol

from webhook.server.protocol import LARGEST_BODY, Reply, WebhookProtocol, content_type_of

_HEAD: Final = re.compile(
    rb"POST (/[!->@-~]*)(?:\?[!-~]*)? HTTP/1\.1\r\n((?:[A-Za-z-]+: [ -~]*\r\n)+)\r\n"
)
_FIELD: Final = re.compile(rb"([A-Za-z-]+): ([ -~]*)\r\n")
_LENGTH: Final = re.compile(rb"[0-9]{1,7}")
_KNOWN_FIELDS: Final = frozenset(
    {
        b"accept", b"accept-encoding", b"baggage", b"content-length", b"content-type", b"host",
        b"traceparent", b"tracestate", b"user-agent",
    }
)  # fmt: skip
"""Headers that do not change how a request is parsed, except for the length."""


@dataclass(frozen=True, slots=True)
class Head:
    """Request line and headers of a request."""

    path: bytes
    length: int
    """Length of the body in bytes."""

    end: int
    """Position of the body in the received bytes."""


def parse_head(data: bytes) -> Head | None:
    """Return the head of the request in *data*; none if gunicorn's parser has to read it."""
    match = _HEAD.match(data)
    if match is None:
        return None
    fields: dict[bytes, bytes] = {}
    for name, value in _FIELD.findall(match[2]):
        key = name.lower()
        if key in fields or key not in _KNOWN_FIELDS:
            return None
        fields[key] = value
    length = fields.get(b"content-length", b"")
    is_json = fields.get(b"content-type") == b"application/json"
    if not is_json or b"host" not in fields or not _LENGTH.fullmatch(length):
        return None
    return Head(match[1], int(length), match.end()) if int(length) <= LARGEST_BODY else None


class Destination(Protocol):
    """The application, as far as the fast HTTP path uses it."""

    def reply_at(self, path: bytes, *, has_certificate: bool) -> Reply | None:
        """Return the function that answers reviews at *path*, if this caller may call it."""


@dataclass(slots=True)
class _PartialRequest:
    """A request of which a part of the body is missing."""

    reply: Reply
    missing: int
    parts: list[bytes] = field(default_factory=list)


class FastProtocol(WebhookProtocol):
    """One connection, on the fast HTTP path until a request arrives that it does not parse."""

    def __init__(self, worker: Any) -> None:  # noqa: ANN401 - gunicorn ships no types
        super().__init__(worker)
        self._loop: asyncio.AbstractEventLoop = worker.loop
        self._destination: Destination = worker.asgi
        self._is_handed_over = False
        """Whether gunicorn serves the rest of this connection."""

        self._partial: _PartialRequest | None = None
        self._answering: asyncio.Task[None] | None = None
        self._read_ahead = b""
        """What the caller sent before the current request was answered."""

        self._last_activity = 0.0
        self._idle_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin on the fast HTTP path; gunicorn's parser is prepared too."""
        super().connection_made(transport)
        self._last_activity = self._loop.time()
        self._idle_timer = self._loop.call_later(self._keepalive, self._close_if_idle)

    def data_received(self, data: bytes) -> None:
        """Parse what the caller sent."""
        self._last_activity = self._loop.time()
        if self._is_handed_over:
            super().data_received(data)
        elif self._answering is not None:
            self._read_ahead += data
            self._pause_reading()
        else:
            self._parse(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection; the answer to a current request is discarded."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        super().connection_lost(exc)

    def _parse(self, data: bytes) -> None:
        partial = self._partial
        if partial is None:
            head = parse_head(data)
            reply = (
                self._destination.reply_at(head.path, has_certificate=self._has_certificate)
                if head
                else None
            )
            if head is None or reply is None:
                self._is_handed_over = True
                super().data_received(data)
                return
            partial = self._partial = _PartialRequest(reply, head.length)
            data = data[head.end :]
        body, rest = data[: partial.missing], data[partial.missing :]
        partial.parts.append(body)
        partial.missing -= len(body)
        if not partial.missing:
            self._partial, self._read_ahead = None, rest
            whole = body if len(partial.parts) == 1 else b"".join(partial.parts)
            self._answering = self._loop.create_task(self._answer(partial.reply, whole))

    async def _answer(self, reply: Reply, body: bytes) -> None:
        status, content = await reply(body)
        self._answering = None
        if self._closed:
            return
        self._last_activity = self._loop.time()
        is_last = not self.worker.alive
        self._safe_write(_render_response(status, content, is_last=is_last))
        if is_last:
            self._close_transport()
        elif self._read_ahead:
            ahead, self._read_ahead = self._read_ahead, b""
            self._resume_reading()
            self._parse(ahead)

    def _close_if_idle(self) -> None:
        """Close a connection that has been silent for too long; gunicorn closes those it serves."""
        if self._is_handed_over or self._closed:
            return
        left = self._last_activity + self._keepalive - self._loop.time()
        if left <= 0 and self._answering is None:
            self._close_transport()
        else:
            self._idle_timer = self._loop.call_later(max(left, 1.0), self._close_if_idle)


def _render_response(status: HTTPStatus, content: bytes, *, is_last: bool) -> bytes:
    ending = b"connection: close\r\n" if is_last else b""
    return (b"HTTP/1.1 %d %b\r\ncontent-type: %b\r\ncontent-length: %d\r\ndate: %b\r\n%b\r\n%b") % (
        status,
        status.phrase.encode(),
        content_type_of(status),
        len(content),
        _render_date(int(time.time())),
        ending,
        content,
    )


@lru_cache(maxsize=1)
def _render_date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
