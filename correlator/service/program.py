"""The correlator as a program: passes while it leads, on an interval and on change, until stopped.

A pass that fails is logged, counted and made again; it ends nothing. Whether this replica leads is
kept up by a thread of its own, because a pass may take longer than a lease lasts.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from correlator.episodes.episode import LeadershipLost, Term
from correlator.inspection.evidence import Evidence
from correlator.service import metrics
from correlator.service.duties import DUTIES, Duty
from correlator.service.model import REST, Passed, PolicyUnusable, Tools
from correlator.service.passes import Passes
from glasswarden.cluster.client import ApiServerError
from glasswarden.cluster.lease import Lease
from glasswarden.policy.policy import DEFAULT, Policy

TURNS: Final = 5
"""How often a lease is read, or renewed, while it lasts."""

log = structlog.get_logger()


class Leadership:
    """One replica's part in a lease."""

    def __init__(self, lease: Lease, on_gain: Callable[[], None]) -> None:
        self._lease = lease
        self._seconds = lease.duration.total_seconds()
        self._on_gain = on_gain
        self._until = 0.0
        self._seen = 0.0
        """When the lease was last read."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def start(self) -> None:
        """Begin to compete."""
        self._thread.start()

    def stop(self) -> None:
        """Let another lead at once, if we do."""
        self._stop.set()
        self._thread.join(self._seconds)
        self._until = 0.0
        try:
            self._lease.release(datetime.now(UTC))
        except Exception as error:  # noqa: BLE001 - the process ends; the lease runs out by itself
            log.warning("lease not released", reason=str(error))

    @property
    def is_held(self) -> bool:
        """Whether we lead; by our own clock, which stands for as long as nobody else may."""
        return time.monotonic() < self._until

    @property
    def is_well(self) -> bool:
        """Whether we know who leads."""
        return time.monotonic() < self._seen + self._seconds

    def _keep(self) -> None:
        while not self._stop.is_set():
            self._turn()
            self._stop.wait(self._seconds / TURNS)

    def _turn(self) -> None:
        led, began = self.is_held, time.monotonic()
        try:
            held = self._lease.hold(datetime.now(UTC))
        except (ApiServerError, OSError) as error:
            # What we hold runs out by itself.
            log.warning("lease out of reach", reason=str(error))
            return
        except Exception as error:  # noqa: BLE001 - without this thread nobody here leads again
            log.warning("lease unreadable", reason=type(error).__name__)
            return
        self._seen = time.monotonic()
        # From before the request: the others count from when they see it renewed.
        self._until = began + self._seconds if held else 0.0
        if held and not led:
            log.info("leading", lease=self._lease.name, identity=self._lease.identity)
            self._on_gain()
        elif led and not held:
            log.info("standing by", lease=self._lease.name, identity=self._lease.identity)


GRACE_SECONDS: Final = 10.0
"""How long a pass that is under way is waited for at the end."""
STUCK: Final = timedelta(minutes=15)
"""A turn that takes longer will not end: Git and the API server are given up before."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the thread of the passes works with; made by that thread, and again where it failed."""

    tools: Tools
    passes: Passes
    duties: dict[str, Duty]


def new_workshop(tools: Tools, passes: Passes) -> Workshop:
    """Return *tools* and *passes* with the duties."""
    return Workshop(tools, passes, {name: new(tools) for name, new in DUTIES.items()})


def evidence_of(tools: Tools, policy: Policy) -> Evidence:
    """Return what passes go by under *policy*."""
    return Evidence(policy, tools.ledger, policy.cluster, tools.masks, connect=lambda: tools.server)


@dataclass(slots=True)
class Program:
    """One replica."""

    open: Callable[[Callable[[], None]], Workshop]
    """Opens what the passes need; is given what to call when something changed."""
    interval: timedelta
    identity: str
    new_leadership: Callable[[Callable[[], None]], Leadership] | None = None
    """How replicas agree on who leads; none where there is only one."""

    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _wake: threading.Event = field(default_factory=threading.Event, init=False)
    _leadership: Leadership | None = field(default=None, init=False)
    _workshop: Workshop | None = field(default=None, init=False)
    _evidence: Evidence | None = field(default=None, init=False)
    _term: Term | None = field(default=None, init=False)
    _alive: float = field(default_factory=time.monotonic, init=False)
    _done: float | None = field(default=None, init=False)
    """When a pass last succeeded."""

    def run(self) -> None:
        """Pass until `stop`; then let another replica lead."""
        if self.new_leadership is not None:
            self._leadership = self.new_leadership(self._wake.set)
            self._leadership.start()
        passing = threading.Thread(target=self._pass_on, name="passes", daemon=True)
        passing.start()
        self._stop.wait()
        self._wake.set()
        passing.join(GRACE_SECONDS)
        if self._leadership is not None:
            self._leadership.stop()
        log.info("stopped")

    def stop(self) -> None:
        """End soon."""
        self._stop.set()

    @property
    def leads(self) -> bool:
        """Whether this replica makes the passes."""
        return self._leadership is None or self._leadership.is_held

    def is_well(self) -> bool:
        """Return whether turns still end."""
        return time.monotonic() - self._alive < (STUCK + self.interval).total_seconds()

    def why_unready(self) -> str:
        """Return what is missing until we do our part; empty where nothing is."""
        if self._leadership is not None and not self._leadership.is_held:
            return "" if self._leadership.is_well else "who leads is not known"
        if self._done is None:
            return "no pass has ended yet"
        is_recent = time.monotonic() - self._done < 3 * max(self.interval, REST).total_seconds()
        return "" if is_recent else "no pass has succeeded for too long"

    def _pass_on(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            self._turn(datetime.now(UTC))
            self._alive = time.monotonic()
            self._rest(began)
        if self._workshop is not None:
            self._workshop.passes.close()

    def _rest(self, began: float) -> None:
        """Wait until the interval is over, or something changed; a little in any case."""
        self._stop.wait(max(0.0, began + REST.total_seconds() - time.monotonic()))
        self._wake.wait(max(0.0, began + self.interval.total_seconds() - time.monotonic()))
        self._wake.clear()

    def _turn(self, now: datetime) -> None:
        if not self.leads:
            if self._term is not None or self._done is None:
                metrics.stand_by()
            self._term = None
            return
        try:
            with metrics.PASS_SECONDS.time():
                self._pass(now)
        except LeadershipLost as error:
            self._term = None
            log.warning("deposed", reason=str(error))
            metrics.PASSES.labels("deposed").inc()
        except Exception as error:
            log.warning("pass failed", reason=str(error), exc_info=True)
            metrics.PASSES.labels("failed").inc()

    def _pass(self, now: datetime) -> None:
        workshop = self._open()
        evidence = self._evidence_by(workshop.tools)
        if self._term is None or self._term.cluster != evidence.cluster:
            self._term = workshop.tools.history.lead(evidence.cluster, self.identity, now)
            metrics.lead([each.name for each in workshop.passes.sources], now)
        passed = workshop.passes.run(self._term, evidence, now)
        metrics.show(passed.open, len(passed.incomplete))
        for name, duty in workshop.duties.items():
            _do(name, duty, passed)
        self._done = time.monotonic()
        metrics.PASSES.labels("done").inc()
        _log_pass(passed)

    def _open(self) -> Workshop:
        if self._workshop is None:
            self._workshop = self.open(self._wake.set)
        return self._workshop

    def _evidence_by(self, tools: Tools) -> Evidence:
        """Return the evidence by the policy as it is now.

        Where it cannot be read it is as it was; while it is the same, so is what is returned, and
        what it remembers.
        """
        policy = self._evidence.policy if self._evidence else DEFAULT
        try:
            policy = tools.read_policy()
        except PolicyUnusable as error:
            log.warning("policy unusable", reason=str(error))
        if self._evidence is None or self._evidence.policy is not policy:
            self._evidence = evidence_of(tools, policy)
        return self._evidence


def _do(name: str, duty: Duty, passed: Passed) -> None:
    try:
        duty(passed)
    except LeadershipLost:
        raise
    except Exception as error:
        log.warning("duty failed", duty=name, reason=str(error), exc_info=True)
        metrics.DUTY_FAILURES.labels(name).inc()


def _log_pass(passed: Passed) -> None:
    """Log a pass that changed something."""
    changes = passed.changes
    if changes.opened or changes.gone or changes.updated:
        log.info(
            "findings changed",
            opened=len(changes.opened),
            gone=len(changes.gone),
            updated=len(changes.updated),
            open=len(passed.open),
        )
