"""The sources that only the service has: those that follow, rest, and are measured.

A source that fails costs itself only; the failure is logged and counted. What a source read rests
for as long as reading it again would slow the passes down.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog

from correlator.audit.log import AuditLog
from correlator.declared.errors import DeclaredUnreadable
from correlator.finding import Result
from correlator.inspection.evidence import LiveUnavailable
from correlator.inspection.inspect import Pass, Source, SourceFailed
from correlator.inspection.scope import InspectionScope
from correlator.inspection.sources import FollowedGitSource
from correlator.service import metrics
from correlator.service.model import Declares, Tools
from glasswarden.audit.files import Tail
from glasswarden.ledger.errors import LedgerError
from glasswarden.policy.policy import Policy

log = structlog.get_logger()


def new_git_source(
    declares: Declares, tools: Tools, on_change: Callable[[], None]
) -> FollowedGitSource:
    """Return what follows one repository; its revision is read once an interval at most."""
    repository = tools.repository_of(declares)
    return FollowedGitSource(
        repository,
        InspectionScope(declares.app, declares.namespace),
        tools.server,
        name=declares.name,
        team=declares.team,
        on_change=on_change,
        read_revision=Polled(repository.read_revision, tools.settings.interval.total_seconds()),
    )


class Polled:
    """Asks no more often than every so many seconds: passes may follow each other closely."""

    def __init__(self, ask: Callable[[], object], seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._next = 0.0
        self._answer: object = None
        self._failure: DeclaredUnreadable | None = None

    def __call__(self) -> object:
        """Return the answer, or raise what kept us from having one."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            try:
                self._answer, self._failure = self._ask(), None
            except DeclaredUnreadable as error:
                self._failure = error
        if self._failure is not None:
            raise self._failure
        return self._answer


SHARE: Final = 10
"""A source rests so many times as long as it took: reading all of a large ledger takes time."""


@dataclass(slots=True)
class RestingSource:
    """Answers what it read last, until it has rested. Belongs to one thread."""

    source: Source
    _result: Result | None = field(default=None, init=False)
    _next: float = field(default=0.0, init=False)

    @property
    def name(self) -> str:
        """The name of what rests."""
        return self.source.name

    @property
    def team(self) -> str:
        """Who is notified."""
        return self.source.team

    @property
    def is_log(self) -> bool:
        """Whether it lists events."""
        return self.source.is_log

    def read(self, inspection: Pass) -> Result:
        """Return what differs, as it was read last or is now."""
        if self._result is None or time.monotonic() >= self._next:
            self._result = None
            began = time.monotonic()
            try:
                self._result = self.source.read(inspection)
            finally:
                ended = time.monotonic()
                self._next = ended + SHARE * (ended - began)
        return self._result

    def close(self) -> None:
        """Stop following."""
        self.source.close()


@dataclass(frozen=True, slots=True)
class MeasuredSource:
    """Logs and counts how reading a source ends; one that breaks only fails."""

    source: Source

    @property
    def name(self) -> str:
        """The name of what is measured."""
        return self.source.name

    @property
    def team(self) -> str:
        """Who is notified."""
        return self.source.team

    @property
    def is_log(self) -> bool:
        """Whether it lists events."""
        return self.source.is_log

    def read(self, inspection: Pass) -> Result:
        """Return what differs now; a `LedgerError` ends the whole pass."""
        try:
            result = self.source.read(inspection)
        except LedgerError:
            raise  # it concerns them all
        except (SourceFailed, LiveUnavailable) as error:
            log.warning("source failed", source=self.name, reason=str(error))
            metrics.SOURCE_FAILURES.labels(self.name).inc()
            raise
        except Exception as error:
            log.warning(
                "source failed unexpectedly", source=self.name, reason=str(error), exc_info=True
            )
            metrics.SOURCE_FAILURES.labels(self.name).inc()
            raise SourceFailed(f"it broke: {type(error).__name__}") from error
        metrics.was_read(self.name, inspection.base.now)
        return result

    def close(self) -> None:
        """Stop following."""
        self.source.close()


RECENT: Final = timedelta(days=7)
"""How long an observed write is reported, and for how long it can explain a field."""


class AuditFolderSource:
    """Follows the audit log in a folder. Belongs to one thread.

    What it has read explains what the others find, from the next pass on. It is read last: what
    Git says about a field comes before what the log says.
    """

    name = "audit"
    team = ""
    is_log = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tail = Tail(folder)
        self._log: AuditLog | None = None

    def read(self, inspection: Pass) -> Result:
        """Return the writes that were observed lately and have no record."""
        found = self._log_by(inspection.evidence.policy)
        try:
            for event in self._tail.read_new(found.note_flaw):
                found.take(event)
        except OSError as error:
            raise SourceFailed(f"{self._folder}: {error.strerror}") from error
        found.forget(inspection.base.now - RECENT)
        inspection.evidence.audit = found
        if found.watch.until is not None:
            metrics.AUDIT_EVENT.set(found.watch.until.timestamp())
        result = found.result
        # Of several on one object the last one counts.
        return replace(result, findings=tuple(reversed(result.findings)))

    def close(self) -> None:
        """Let go of what was read."""
        if self._log is not None:
            self._log.close()

    def _log_by(self, policy: Policy) -> AuditLog:
        """Return what was read so far; by another policy, it is read anew."""
        if self._log is None or self._log.watch.policy is not policy:
            self.close()
            self._log, self._tail = AuditLog(policy), Tail(self._folder)
        return self._log
