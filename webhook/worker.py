"""gunicorn's ASGI worker: it leaves time for the ledger at its end, and tells of certificates."""

import asyncio
from typing import Any, Final

from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

from webhook.door import Loop
from webhook.tls import SHOWN

GRACE_SECONDS: Final = 2.0
"""Connections that stand idle are given this long at a stop; a review takes milliseconds."""

PARENT_PATIENCE: Final = 10
"""Seconds until the parent kills: the worker takes one to notice, and at most five for its end."""


class _Protocol(ASGIProtocol):  # type: ignore[misc]  # gunicorn ships no types
    """Tells the application whether the caller showed a certificate; gunicorn's own does not."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        tls = transport.get_extra_info("ssl_object")
        self._shown = tls is not None and tls.getpeercert(binary_form=True) is not None
        super().connection_made(transport)

    def _build_http_scope(self, *arguments: object) -> dict[str, Any]:
        scope: dict[str, Any] = super()._build_http_scope(*arguments)
        scope[SHOWN] = self._shown
        return scope


class Worker(ASGIWorker):  # type: ignore[misc]  # gunicorn ships no types
    """Always lets the application end in order.

    gunicorn's own waits for connections as long as its parent waits for it, so with an API server
    that keeps its connections it is killed before the application hears of the stop; and at Ctrl-C
    the application is not told at all.
    """

    def _setup_event_loop(self) -> None:
        self.loop = Loop(lambda: _Protocol(self), lambda: self.nr_conns)
        asyncio.set_event_loop(self.loop)

    async def _shutdown(self) -> None:
        for server in self.servers:
            server.close()
        deadline = self.loop.time() + (0 if self._quick_shutdown else GRACE_SECONDS)
        while self.nr_conns > 0 and self.loop.time() < deadline:  # noqa: ASYNC110 - a bare count
            await asyncio.sleep(0.05)
        if self.lifespan is not None:
            await self.lifespan.shutdown()
