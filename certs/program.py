"""The keeper as a program: pass after pass, while it leads, until it is told to stop."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from certs import metrics
from certs.configurations import RestoreFailed
from certs.controller import CertificateController, Pass
from glasswarden.cluster.lease import Lease
from glasswarden.cluster.objects import ClusterError, ObjectChanged

INTERVAL: Final = timedelta(seconds=5)
UNWELL_AFTER: Final = 24
"""Intervals without a pass that ended, one way or the other, after which we are stuck."""

log = structlog.get_logger()


@dataclass(slots=True)
class Program:
    """One replica."""

    controller: CertificateController
    lease: Lease | None
    """How replicas agree on who leads; none where there is only one."""
    interval: timedelta = INTERVAL
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _alive: float = field(default_factory=time.monotonic, init=False)
    _said: tuple[object, ...] = field(default=(), init=False)

    def run(self) -> None:
        """Pass until `stop`; then let another replica lead."""
        while not self._stop.is_set():
            self._turn(datetime.now(UTC))
            self._alive = time.monotonic()
            self._stop.wait(self.interval.total_seconds())
        self._try(self._release)

    def stop(self) -> None:
        """End after the pass that is under way."""
        self._stop.set()

    def is_well(self) -> bool:
        """Tell whether passes still end."""
        return time.monotonic() - self._alive < UNWELL_AFTER * self.interval.total_seconds()

    def _turn(self, now: datetime) -> None:
        self._try(lambda: self._keep(now))

    def _keep(self, now: datetime) -> None:
        if self.lease is not None and not self.lease.hold(now):
            metrics.clear_metrics()
            return
        metrics.LEADER.set(1)
        done = self.controller.run_pass(now)
        metrics.publish_pass(done)
        metrics.PASSES.labels("done").inc()
        self._tell(done)

    def _release(self) -> None:
        if self.lease is not None:
            self.lease.release(datetime.now(UTC))

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except ObjectChanged as error:
            log.info("somebody else was quicker", reason=str(error))
            metrics.PASSES.labels("overtaken").inc()
        except (ClusterError, OSError, RestoreFailed) as error:
            log.warning("pass failed", reason=str(error))
            metrics.PASSES.labels("failed").inc()
        except Exception as error:
            # What is in the cluster may be anything; the next pass finds it mended, or not.
            log.warning("pass failed", reason=type(error).__name__, exc_info=True)
            metrics.PASSES.labels("failed").inc()

    def _tell(self, done: Pass) -> None:
        """Log what has changed since the last pass."""
        changed = [f"{each.resource}: {how}" for each, how in done.conditions.items()]
        said = (done.state.phase, done.state.expires, *changed)
        if done.problem:
            place = self.controller.store.location
            log.error("certificates issued anew", location=place, reason=done.problem)
        if said == self._said:
            return
        self._said = said
        event = "webhook configuration missing" if done.missing else "certificates kept"
        (log.error if done.missing else log.info)(
            event,
            phase=done.state.phase.value,
            expires=done.state.expires.isoformat(),
            configurations=changed,
        )


@contextmanager
def watched(program: Program, host: str, port: int) -> Iterator[int]:
    """Serve `/metrics` and `/healthz` of *program*; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(HTTPStatus.OK, generate_latest(metrics.REGISTRY), CONTENT_TYPE_LATEST)
            elif self.path == "/healthz":
                well = program.is_well()
                status = HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE
                self._answer(status, b"ok\n" if well else b"no pass has ended for too long\n")
            else:
                self._answer(HTTPStatus.NOT_FOUND, b"not found\n")

        def _answer(self, status: HTTPStatus, body: bytes, kind: str = "text/plain") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: probes come every few seconds."""

    with ThreadingHTTPServer((host, port), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
