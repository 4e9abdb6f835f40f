"""Accepts connections on the listening socket that all worker processes share.

A server of the event loop accepts all waiting connections at once, and the busiest process wakes
first: one process would get all connections, for as long as the API server keeps them, and the
others none. The acceptor accepts one connection at a time, after a delay that grows with the number
of connections that its process has.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

import uvloop

DELAY_PER_CONNECTION: Final = 0.001
"""Seconds for each connection that a process has: the resolution of the loop's timers."""

LONGEST_DELAY: Final = 0.004
"""Seconds. Many waiting connections must not wait for longer than their TLS handshakes take."""

NewProtocol = Callable[[], asyncio.Protocol]


class Loop(uvloop.Loop):
    """An event loop whose servers share their sockets fairly with those of other processes.

    gunicorn's worker leaves it to its loop who accepts a connection, and with which protocol.
    """

    def __init__(self, new_protocol: NewProtocol, count_connections: Callable[[], int]) -> None:
        super().__init__()
        self._new_protocol = new_protocol
        self._count_connections = count_connections
        """Returns the number of connections of this process."""

    async def create_server(  # type: ignore[override]  # the arguments that gunicorn passes
        self,
        _theirs: NewProtocol,
        *,
        sock: socket.socket,
        ssl: ssl.SSLContext,
        **_: Any,  # noqa: ANN401 - options that are always so here
    ) -> "Acceptor":
        """Return a started acceptor of *sock*, which uses our own protocol."""
        acceptor = Acceptor(self, sock, ssl, self._new_protocol, self._count_connections)
        acceptor.start()
        return acceptor


class Acceptor:
    """Accepts connections of a shared listening socket for one process."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        tls: ssl.SSLContext,
        new_protocol: NewProtocol,
        count_connections: Callable[[], int],
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._tls = tls
        self._new_protocol = new_protocol
        self._count_connections = count_connections
        self._delay: asyncio.TimerHandle | None = None
        self._handshakes: set[asyncio.Task[None]] = set()
        """TLS handshakes that are not complete."""

        listener.setblocking(False)

    def start(self) -> None:
        """Accept connections from now on."""
        self._loop.add_reader(self._listener, self._accept_later)

    @property
    def is_busy(self) -> bool:
        """Whether a TLS handshake is not complete."""
        return bool(self._handshakes)

    def close(self) -> None:
        """Accept the connections that already wait, and no more; accepted connections remain."""
        self._loop.remove_reader(self._listener)
        if self._delay is not None:
            self._delay.cancel()
        while self._accept_one():
            pass

    def _accept_later(self) -> None:
        self._loop.remove_reader(self._listener)
        connections = self._count_connections() + len(self._handshakes)
        pause = min(connections * DELAY_PER_CONNECTION, LONGEST_DELAY)
        self._delay = self._loop.call_later(pause, self._accept)

    def _accept(self) -> None:
        self.start()
        self._accept_one()

    def _accept_one(self) -> bool:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            # Another process was faster, the caller disconnected, or no file descriptor is left.
            return False
        handshake = self._loop.create_task(self._shake_hands(connection))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)
        return True

    async def _shake_hands(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._new_protocol, connection, ssl=self._tls)
        except OSError:
            connection.close()  # no TLS, or not in time
