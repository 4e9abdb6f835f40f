"""gunicorn's ASGI worker: its callers are let in fairly, and its end leaves the ledger time."""

import asyncio
from typing import Final

from gunicorn.workers.gasgi import ASGIWorker

from webhook.door import Loop
from webhook.lane import LaneProtocol

GRACE_SECONDS: Final = 2.0
"""How long a process serves on at a stop, and connections that stand idle are left alone."""

QUIET_SECONDS: Final = 0.3
"""It ends sooner where nobody has been there for so long."""

FAREWELL_SECONDS: Final = 0.5
"""What those have who were let in last; a review takes milliseconds."""

PARENT_PATIENCE: Final = 10
"""Seconds until the parent kills: the worker takes one to notice, and at most five for its end."""

_PAUSE: Final = 0.05


class Worker(ASGIWorker):  # type: ignore[misc]  # gunicorn ships no types
    """Always lets the application end in order.

    gunicorn's own waits for connections as long as its parent waits for it, so with an API server
    that keeps its connections it is killed before the application hears of the stop; and at Ctrl-C
    the application is not told at all.
    """

    def _setup_event_loop(self) -> None:
        self.loop = Loop(lambda: LaneProtocol(self), lambda: self.nr_conns)
        asyncio.set_event_loop(self.loop)

    def handle_exit_signal(self) -> None:
        """Have probes told; every answer ends its connection from now on."""
        super().handle_exit_signal()
        self.asgi.is_ending = True

    async def _shutdown(self) -> None:
        self.handle_exit_signal()  # without a signal it ends where the parent is gone
        if not self._quick_shutdown:
            await self._serve_on()
        for server in self.servers:
            server.close()
        if not self._quick_shutdown:
            await self._see_off()
        if self.lifespan is not None:
            await self.lifespan.shutdown()

    async def _serve_on(self) -> None:
        """Serve who still comes: whoever sends them here learns of the end by a probe, later.

        A connection that is made while the door is closed, and cut when the process ends, is a
        write that fails.
        """
        left_alone = self.loop.time()
        deadline = left_alone + GRACE_SECONDS
        while self.loop.time() < min(deadline, left_alone + QUIET_SECONDS):
            await asyncio.sleep(_PAUSE)
            if self._has_callers():
                left_alone = self.loop.time()

    async def _see_off(self) -> None:
        """Wait for the answers to those who were let in last."""
        deadline = self.loop.time() + FAREWELL_SECONDS
        while self._has_callers() and self.loop.time() < deadline:  # noqa: ASYNC110 - bare counts
            await asyncio.sleep(_PAUSE)

    def _has_callers(self) -> bool:
        return self.nr_conns > 0 or any(server.is_busy for server in self.servers)
