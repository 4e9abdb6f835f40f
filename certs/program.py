"""The certificate controller as a program: it makes passes while it leads, until it is stopped."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from certs import metrics
from certs.configurations import RestoreFailed
from certs.controller import CertificateController, Pass
from glasswarden.cluster.client import ApiServerError, Conflict
from glasswarden.cluster.lease import Lease

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
    _status: tuple[object, ...] = field(default=(), init=False)

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
        """Return whether passes still end."""
        return time.monotonic() - self._alive < UNWELL_AFTER * self.interval.total_seconds()

    def why_unready(self) -> str:
        """Return nothing: a replica does its part from the first pass on, leading or not."""
        return ""

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
        self._log_changes(done)

    def _release(self) -> None:
        if self.lease is not None:
            self.lease.release(datetime.now(UTC))

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Conflict as error:
            log.info("overtaken by another replica", reason=str(error))
            metrics.PASSES.labels("overtaken").inc()
        except (ApiServerError, OSError, RestoreFailed) as error:
            log.warning("pass failed", reason=str(error))
            metrics.PASSES.labels("failed").inc()
        except Exception as error:
            # What is in the cluster may be anything; the next pass finds it mended, or not.
            log.warning("pass failed", reason=type(error).__name__, exc_info=True)
            metrics.PASSES.labels("failed").inc()

    def _log_changes(self, done: Pass) -> None:
        """Log what has changed since the last pass."""
        changed = [f"{each.resource}: {how}" for each, how in done.conditions.items()]
        status = (done.state.phase, done.state.expires, *changed)
        if done.problem:
            place = self.controller.store.location
            log.error("certificates issued anew", location=place, reason=done.problem)
        if status == self._status:
            return
        self._status = status
        event = "webhook configuration missing" if done.missing else "certificates kept"
        (log.error if done.missing else log.info)(
            event,
            phase=done.state.phase.value,
            expires=done.state.expires.isoformat(),
            configurations=changed,
        )
