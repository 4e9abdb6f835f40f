"""The listening socket that all worker processes share, and who of them takes a connection.

A server of the event loop takes all connections that wait in one go, and who is busy already wakes
first: one process has them all, for as long as the API server keeps them, and the others stand
idle. Here a process takes one at a time, and hesitates the longer the more it has.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

import uvloop

HESITATION: Final = 0.001
"""Seconds for each connection that a process has: the least that the loop's timers can tell."""

LONGEST_HESITATION: Final = 0.004
"""Seconds. A crowd must not wait at the door for longer than it takes to shake hands with it."""

NewProtocol = Callable[[], asyncio.Protocol]


class Loop(uvloop.Loop):
    """An event loop whose servers share their sockets fairly with those of other processes.

    gunicorn's worker leaves both to its loop: who takes a connection, and what it is handed to.
    """

    def __init__(self, new_protocol: NewProtocol, held: Callable[[], int]) -> None:
        super().__init__()
        self._new_protocol = new_protocol
        self._held = held
        """Tells how many connections this process has."""

    async def create_server(  # type: ignore[override]  # what gunicorn asks for
        self,
        _theirs: NewProtocol,
        *,
        sock: socket.socket,
        ssl: ssl.SSLContext,
        **_: Any,  # noqa: ANN401 - what is so here in any case
    ) -> "Door":
        """Return an open door to *sock*, behind which our own protocol is spoken."""
        door = Door(self, sock, ssl, self._new_protocol, self._held)
        door.open()
        return door


class Door:
    """One process's side of a listening socket."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        tls: ssl.SSLContext,
        new_protocol: NewProtocol,
        held: Callable[[], int],
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._tls = tls
        self._new_protocol = new_protocol
        self._held = held
        self._hesitation: asyncio.TimerHandle | None = None
        self._welcomes: set[asyncio.Task[None]] = set()
        """Callers that are not through with shaking hands."""

        listener.setblocking(False)

    def open(self) -> None:
        """Take connections from now on."""
        self._loop.add_reader(self._listener, self._hesitate)

    @property
    def is_busy(self) -> bool:
        """Whether somebody is not through with shaking hands."""
        return bool(self._welcomes)

    def close(self) -> None:
        """Take those who wait already, and no more; all that were taken stay."""
        self._loop.remove_reader(self._listener)
        if self._hesitation is not None:
            self._hesitation.cancel()
        while self._take_one():
            pass

    def _hesitate(self) -> None:
        self._loop.remove_reader(self._listener)
        pause = min((self._held() + len(self._welcomes)) * HESITATION, LONGEST_HESITATION)
        self._hesitation = self._loop.call_later(pause, self._take)

    def _take(self) -> None:
        self.open()
        self._take_one()

    def _take_one(self) -> bool:
        try:
            caller, _ = self._listener.accept()
        except OSError:
            return False  # another process was faster, the caller is gone, or no file is to be had
        welcome = self._loop.create_task(self._welcome(caller))
        self._welcomes.add(welcome)
        welcome.add_done_callback(self._welcomes.discard)
        return True

    async def _welcome(self, caller: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._new_protocol, caller, ssl=self._tls)
        except OSError:
            caller.close()  # no TLS, or none in time
