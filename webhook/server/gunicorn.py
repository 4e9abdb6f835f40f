"""Runs gunicorn, configured for an API server as its only client.

Its worker accepts connections fairly, and stops in an order that leaves the ledger time.
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
from webhook.server.acceptor import Loop
from webhook.server.app import Application
from webhook.server.fast_http import FastProtocol
from webhook.server.protocol import WebhookProtocol
from webhook.server.tls import new_context
from webhook.settings import Settings

GRACE_SECONDS: Final = 2.0
"""How long a process still serves at a stop, with idle connections open."""

QUIET_SECONDS: Final = 0.3
"""It stops earlier if it had no connection for so long."""

LAST_ANSWERS_SECONDS: Final = 0.5
"""Time for the answers to the connections accepted last; a review takes milliseconds."""

PARENT_TIMEOUT: Final = 10
"""Seconds until the parent kills a worker, which needs one to notice and at most five to stop."""

_POLL_SECONDS: Final = 0.05


class Worker(ASGIWorker):  # type: ignore[misc]  # gunicorn ships no types
    """Always shuts the application down in order.

    gunicorn's own worker waits for connections as long as its parent waits for it. An API server
    keeps its connections, so the worker would be killed before the application is shut down; and
    at Ctrl-C the application would not be shut down at all.
    """

    def _setup_event_loop(self) -> None:
        self.loop = Loop(self._new_protocol, lambda: self.nr_conns)
        asyncio.set_event_loop(self.loop)

    def _new_protocol(self) -> WebhookProtocol:
        return FastProtocol(self) if self.asgi.has_fast_http else WebhookProtocol(self)

    def handle_exit_signal(self) -> None:
        """Report not ready; from now on, every answer ends its connection."""
        super().handle_exit_signal()
        self.asgi.is_ending = True

    async def _shutdown(self) -> None:
        self.handle_exit_signal()  # without a signal if the parent has died
        if not self._quick_shutdown:
            await self._keep_serving()
        for server in self.servers:
            server.close()
        if not self._quick_shutdown:
            await self._finish_answers()
        if self.lifespan is not None:
            await self.lifespan.shutdown()

    async def _keep_serving(self) -> None:
        """Serve connections that still arrive: the load balancer learns of the stop only later.

        A connection that nobody accepts, and that is cut when the process ends, is a write that
        fails.
        """
        last_caller = self.loop.time()
        deadline = last_caller + GRACE_SECONDS
        while self.loop.time() < min(deadline, last_caller + QUIET_SECONDS):
            await asyncio.sleep(_POLL_SECONDS)
            if self._has_callers():
                last_caller = self.loop.time()

    async def _finish_answers(self) -> None:
        """Wait for the answers to the connections that were accepted last."""
        deadline = self.loop.time() + LAST_ANSWERS_SECONDS
        while self._has_callers() and self.loop.time() < deadline:  # noqa: ASYNC110 - bare counts
            await asyncio.sleep(_POLL_SECONDS)

    def _has_callers(self) -> bool:
        return self.nr_conns > 0 or any(server.is_busy for server in self.servers)


# The API server keeps an idle connection for 90 s. A server that closes it earlier may reset a
# request that is being sent.
KEEP_ALIVE_SECONDS = 120


class AddressUnusable(Exception):
    """The process cannot listen on the address; choose another, or stop what uses it."""


def serve(settings: Settings, clock: TimeSource = machine_time) -> None:
    """Serve until stopped; raise errors in the settings before that."""
    Rules(settings.policy)
    if settings.makes_keys:
        # Before the workers read them.
        make_key_folder(settings.keys, clock())
    GrantKeys(settings.keys)
    new_context(settings.certificate, settings.key, settings.client_authority)
    _check_address(settings.bind)
    configure_logs()
    _Server(settings, clock).run()


def _check_address(bind: str) -> None:
    """Raise if *bind* cannot be used: gunicorn itself would retry for seconds, then just end."""
    host, _, port = bind.rpartition(":")
    try:
        with socket.create_server((host.strip("[]"), int(port)), family=_family_of(host)):
            pass
    except (OSError, OverflowError, ValueError) as error:
        raise AddressUnusable(f"cannot listen on {bind}: {error}") from error


def _family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn ships no types
    """gunicorn with settings from code: it reads no command line and no configuration file."""

    def __init__(self, settings: Settings, clock: TimeSource) -> None:
        self._settings = settings
        self._clock = clock
        super().__init__()

    def load(self) -> Application:
        """Return the application, created once in the parent and shared by its workers."""
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
            "graceful_timeout": PARENT_TIMEOUT,
            "certfile": str(self._settings.certificate),
            "keyfile": str(self._settings.key),
            "ssl_context": self._tls,
            "logger_class": ServerLog,
            "control_socket_disable": True,
            # The parent's gauges are 0, which would be the minimum of all processes.
            "when_ready": lambda _arbiter: forget_process(os.getpid()),
            "child_exit": lambda _arbiter, worker: forget_process(worker.pid),
        }

    def _tls(self, _config: object, _default: object) -> ssl.SSLContext:
        try:
            tls: ssl.SSLContext = self.wsgi().tls
        except Exception as error:
            # gunicorn's worker treats any Exception in this hook as "serve without TLS".
            raise SystemExit("the TLS context could not be created") from error
        return tls
