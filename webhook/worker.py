"""gunicorn's ASGI worker: its callers are let in fairly, and its end leaves the ledger time."""

import asyncio
from typing import Final

from gunicorn.workers.gasgi import ASGIWorker

from webhook.door import Loop
from webhook.lane import LaneProtocol

GRACE_SECONDS: Final = 2.0
"""Connections that stand idle are given this long at a stop; a review takes milliseconds."""

PARENT_PATIENCE: Final = 10
"""Seconds until the parent kills: the worker takes one to notice, and at most five for its end."""


class Worker(ASGIWorker):  # type: ignore[misc]  # gunicorn ships no types
    """Always lets the application end in order.

    gunicorn's own waits for connections as long as its parent waits for it, so with an API server
    that keeps its connections it is killed before the application hears of the stop; and at Ctrl-C
    the application is not told at all.
    """

    def _setup_event_loop(self) -> None:
        self.loop = Loop(lambda: LaneProtocol(self), lambda: self.nr_conns)
        asyncio.set_event_loop(self.loop)

    async def _shutdown(self) -> None:
        for server in self.servers:
            server.close()
        deadline = self.loop.time() + (0 if self._quick_shutdown else GRACE_SECONDS)
        while self.nr_conns > 0 and self.loop.time() < deadline:  # noqa: ASYNC110 - a bare count
            await asyncio.sleep(0.05)
        if self.lifespan is not None:
            await self.lifespan.shutdown()
