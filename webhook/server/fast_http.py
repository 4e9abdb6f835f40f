"""The short lane: a review just as the API server sends it, read and answered without a framework.

gunicorn's protocol is made for any client and any application, and takes longer over a request than
the verdict does. What Go's HTTP client sends to a webhook is always the same few lines; exactly
those are understood here. Anything else, and all that follows it on its connection, goes the long
way, through gunicorn's own parser and the ASGI application.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Protocol

from gunicorn.asgi.protocol import ASGIProtocol

from webhook.server.tls import SHOWN

Reply = Callable[[bytes], Awaitable[tuple[HTTPStatus, bytes]]]

LARGEST_BODY: Final = 8 * 1024 * 1024
"""etcd bounds an object at 1.5 MiB; a review holds two of them, as JSON, and some words around."""

_HEAD: Final = re.compile(
    rb"POST (/[!->@-~]*)(?:\?[!-~]*)? HTTP/1\.1\r\n((?:[A-Za-z-]+: [ -~]*\r\n)+)\r\n"
)
_FIELD: Final = re.compile(rb"([A-Za-z-]+): ([ -~]*)\r\n")
_LENGTH: Final = re.compile(rb"[0-9]{1,7}")
_KNOWN: Final = frozenset(
    {
        b"accept", b"accept-encoding", b"baggage", b"content-length", b"content-type", b"host",
        b"traceparent", b"tracestate", b"user-agent",
    }
)  # fmt: skip
"""Headers that change nothing about how a request is read, but for the length."""


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the body of a request."""

    path: bytes
    length: int
    """Of the body."""

    end: int
    """Where the body begins."""


def parse_head(data: bytes) -> Head | None:
    """Return the head of the request that *data* begins with; none where it is for the long way."""
    match = _HEAD.match(data)
    if match is None:
        return None
    fields: dict[bytes, bytes] = {}
    for name, value in _FIELD.findall(match[2]):
        key = name.lower()
        if key in fields or key not in _KNOWN:
            return None
        fields[key] = value
    length = fields.get(b"content-length", b"")
    is_json = fields.get(b"content-type") == b"application/json"
    if not is_json or b"host" not in fields or not _LENGTH.fullmatch(length):
        return None
    return Head(match[1], int(length), match.end()) if int(length) <= LARGEST_BODY else None


class Destination(Protocol):
    """The application, as far as the lane leads to it."""

    def reply_at(self, path: bytes, *, is_shown: bool) -> Reply | None:
        """Return what answers reviews at *path*; *is_shown* tells of the caller's certificate."""


@dataclass(slots=True)
class _Arriving:
    """A request whose body is still on its way."""

    reply: Reply
    missing: int
    parts: list[bytes] = field(default_factory=list)


class LaneProtocol(ASGIProtocol):  # type: ignore[misc]  # gunicorn ships no types
    """One connection: on the lane until something comes that does not belong there."""

    def __init__(self, worker: Any) -> None:  # noqa: ANN401 - gunicorn ships no types
        super().__init__(worker)
        self._loop: asyncio.AbstractEventLoop = worker.loop
        self._destination: Destination = worker.asgi
        self._is_shown = False
        self._is_long = False
        """Whether gunicorn has taken over, for good."""

        self._arriving: _Arriving | None = None
        self._answering: asyncio.Task[None] | None = None
        self._early = b""
        """What came behind a request that was not answered yet."""

        self._heard = 0.0
        self._idling: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin with the lane; what gunicorn would read with is ready beside it."""
        tls = transport.get_extra_info("ssl_object")
        self._is_shown = tls is not None and tls.getpeercert(binary_form=True) is not None
        super().connection_made(transport)
        self._heard = self._loop.time()
        self._idling = self._loop.call_later(self._keepalive, self._look_whether_idle)

    def data_received(self, data: bytes) -> None:
        """Take what the caller sent."""
        self._heard = self._loop.time()
        if self._is_long:
            super().data_received(data)
        elif self._answering is not None:
            self._early += data
            self._pause_reading()
        else:
            self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; what is being answered is answered to nobody."""
        if self._idling is not None:
            self._idling.cancel()
        super().connection_lost(exc)

    def _take(self, data: bytes) -> None:
        arriving = self._arriving
        if arriving is None:
            head = parse_head(data)
            reply = self._destination.reply_at(head.path, is_shown=self._is_shown) if head else None
            if head is None or reply is None:
                self._is_long = True
                super().data_received(data)
                return
            arriving = self._arriving = _Arriving(reply, head.length)
            data = data[head.end :]
        body, rest = data[: arriving.missing], data[arriving.missing :]
        arriving.parts.append(body)
        arriving.missing -= len(body)
        if not arriving.missing:
            self._arriving, self._early = None, rest
            whole = body if len(arriving.parts) == 1 else b"".join(arriving.parts)
            self._answering = self._loop.create_task(self._answer(arriving.reply, whole))

    async def _answer(self, reply: Reply, body: bytes) -> None:
        status, content = await reply(body)
        self._answering = None
        if self._closed:
            return
        self._heard = self._loop.time()
        is_last = not self.worker.alive
        self._safe_write(_response(status, content, is_last=is_last))
        if is_last:
            self._close_transport()
        elif self._early:
            early, self._early = self._early, b""
            self._resume_reading()
            self._take(early)

    def _look_whether_idle(self) -> None:
        """Close a connection on which nothing has been said for long; gunicorn sees to its own."""
        if self._is_long or self._closed:
            return
        left = self._heard + self._keepalive - self._loop.time()
        if left <= 0 and self._answering is None:
            self._close_transport()
        else:
            self._idling = self._loop.call_later(max(left, 1.0), self._look_whether_idle)

    def _build_http_scope(self, *arguments: object) -> dict[str, Any]:
        """Tell the application whether the caller showed a certificate; gunicorn does not."""
        scope: dict[str, Any] = super()._build_http_scope(*arguments)
        scope[SHOWN] = self._is_shown
        return scope


def content_type(status: HTTPStatus) -> bytes:
    """Return what an answer with *status* is: a review, or a sentence that says what is wrong."""
    return b"application/json" if status == HTTPStatus.OK else b"text/plain; charset=utf-8"


def _response(status: HTTPStatus, content: bytes, *, is_last: bool) -> bytes:
    ending = b"connection: close\r\n" if is_last else b""
    return (b"HTTP/1.1 %d %b\r\ncontent-type: %b\r\ncontent-length: %d\r\ndate: %b\r\n%b\r\n%b") % (
        status,
        status.phrase.encode(),
        content_type(status),
        len(content),
        _date(int(time.time())),
        ending,
        content,
    )


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
