"""gunicorn, set up for an API server as its only client.

gunicorn's ASGI worker: its callers are let in fairly, and its end leaves the ledger time.
"""

import asyncio
import os
import socket
import ssl
from typing import Any, Final

from gunicorn.app.base import BaseApplication
from gunicorn.workers.gasgi import ASGIWorker

from glasswarden.logs import ServerLog, configure_logs
from webhook.clock import TimeSource, machine_time
from webhook.metrics import forget_process
from webhook.reloading import GrantKeys, Rules, make_key_folder
from webhook.server.accept import Loop
from webhook.server.app import Application
from webhook.server.fast_http import LaneProtocol
from webhook.server.tls import new_context
from webhook.settings import Settings

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


# The API server keeps an idle connection for 90 s; a server that closes first resets a request
# that is just being sent.
KEEP_ALIVE_SECONDS = 120


class AddressUnusable(Exception):
    """The address cannot be listened on; choose another, or stop who holds it."""


def serve(settings: Settings, clock: TimeSource = machine_time) -> None:
    """Serve until told to stop; what is wrong with the settings is raised before that."""
    Rules(settings.policy)
    if settings.makes_keys:
        # Before the workers read them.
        make_key_folder(settings.keys, clock())
    GrantKeys(settings.keys)
    new_context(settings.certificate, settings.key, settings.client_authority)
    _try_address(settings.bind)
    configure_logs()
    _Server(settings, clock).run()


def _try_address(bind: str) -> None:
    """Raise where *bind* cannot be had: gunicorn itself would try for seconds, then just end."""
    host, _, port = bind.rpartition(":")
    try:
        with socket.create_server((host.strip("[]"), int(port)), family=_family(host)):
            pass
    except (OSError, OverflowError, ValueError) as error:
        raise AddressUnusable(f"cannot listen on {bind}: {error}") from error


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn ships no types
    """gunicorn with settings from code: no command line, no configuration file is read."""

    def __init__(self, settings: Settings, clock: TimeSource) -> None:
        self._settings = settings
        self._clock = clock
        super().__init__()

    def load(self) -> Application:
        """Return the application, made once in the parent and shared by its workers."""
        return Application(self._settings, self._clock)

    def load_config(self) -> None:
        """Set what differs from gunicorn's defaults."""
        for name, value in self._options().items():
            self.cfg.set(name, value)

    def _options(self) -> dict[str, Any]:
        return {
            "bind": self._settings.bind,
            "workers": self._settings.workers,
            "worker_class": Worker,
            "asgi_lifespan": "on",
            "preload_app": True,
            "keepalive": KEEP_ALIVE_SECONDS,
            "graceful_timeout": PARENT_PATIENCE,
            "certfile": str(self._settings.certificate),
            "keyfile": str(self._settings.key),
            "ssl_context": self._tls,
            "logger_class": ServerLog,
            "control_socket_disable": True,
            # Its gauges say 0 for what it never does: of several processes, the least would be its.
            "when_ready": lambda _arbiter: forget_process(os.getpid()),
            "child_exit": lambda _arbiter, worker: forget_process(worker.pid),
        }

    def _tls(self, _config: object, _default: object) -> ssl.SSLContext:
        try:
            tls: ssl.SSLContext = self.wsgi().tls
        except Exception as error:
            # gunicorn's worker takes any Exception from this hook as "serve without TLS".
            raise SystemExit("the TLS context could not be made") from error
        return tls
