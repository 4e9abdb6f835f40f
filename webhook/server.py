"""gunicorn, set up for an API server as its only client."""

import os
import socket
import ssl
from typing import Any

from gunicorn.app.base import BaseApplication

from webhook.app import Application
from webhook.grant_keys import GrantKeys
from webhook.key_folder import make_key_folder
from webhook.logs import ServerLog, configure_logs
from webhook.metrics import forget_process
from webhook.rules import Rules
from webhook.settings import Settings
from webhook.time_source import TimeSource, machine_time
from webhook.tls import new_context
from webhook.worker import PARENT_PATIENCE, Worker

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
