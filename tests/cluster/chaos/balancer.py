"""A Service in miniature: new connections go to replicas that are ready, standing ones stay."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from tests.cluster.processes import LOOPBACK

PROBE_SECONDS = 0.2


class Balancer:
    """A TCP proxy on a port of its own, with a line that can be made slow, or dead."""

    def __init__(self) -> None:
        self.delay = 0.0
        """Seconds that each piece of a request waits on its way."""
        self.dead = False
        """Whether nothing comes through any more, in either direction, while nobody hangs up."""
        self.connections = 0
        """Connections that stand now."""
        self.port = 0
        self._members: dict[int, Callable[[], bool]] = {}
        self.ready: list[int] = []
        """Where new connections go, by turns."""
        self._turn = 0
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._open())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    def add(self, port: int, is_ready: Callable[[], bool] = lambda: True) -> None:
        """Have new connections go to *port* too, whenever *is_ready*."""
        self._members[port] = is_ready
        self._probe()

    def remove(self, port: int) -> None:
        """Send *port* no new connection; those that stand are left alone."""
        self._members.pop(port, None)
        self._probe()

    def _probe(self) -> None:
        members = dict(self._members)
        self.ready = [port for port, is_ready in members.items() if is_ready()]

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._carry, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self._probing = asyncio.create_task(self._keep_probing())

    async def _keep_probing(self) -> None:
        while True:
            await asyncio.sleep(PROBE_SECONDS)
            await asyncio.to_thread(self._probe)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        # The transports hear of their end in the loop's next turns.
        await asyncio.sleep(0.1)

    async def _carry(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with suppress(OSError):
                await self._connect(client, answers)
        finally:
            self.connections -= 1
            answers.close()

    async def _connect(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        if not self.ready:
            return
        self._turn += 1
        port = self.ready[self._turn % len(self.ready)]
        replica, requests = await asyncio.open_connection(LOOPBACK, port)
        ways = [
            asyncio.create_task(self._pipe(client, requests, slow=True)),
            asyncio.create_task(self._pipe(replica, answers, slow=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            requests.close()

    async def _pipe(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, slow: bool
    ) -> None:
        with suppress(OSError):
            while piece := await source.read(65536):
                if slow and self.delay:
                    await asyncio.sleep(self.delay)
                while self.dead:  # noqa: ASYNC110 - set from another thread
                    await asyncio.sleep(PROBE_SECONDS)
                sink.write(piece)
                await sink.drain()

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)
