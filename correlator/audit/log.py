"""An audit log, read: what the correlator knows by it, and what it could not read."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from correlator.audit.index import Index
from correlator.audit.sighting import finding_of
from correlator.audit.watch import Watch
from correlator.finding import Incomplete, Result
from correlator.link.drifted import Knowledge
from glasswarden.audit.event import Event
from glasswarden.audit.files import Flaw, read_events
from glasswarden.policy.policy import Policy

LAG: Final = timedelta(minutes=1)
"""How long an event may take to be written: nearer to its ends, nothing is missed in a log."""

MOST_FLAWS: Final = 20
"""Flaws that are told one by one; of more, how many there are."""


class AuditLog:
    """What was read of a log."""

    def __init__(self, policy: Policy) -> None:
        self.watch = Watch(policy)
        self.index = Index()
        self._flaws: list[Flaw] = []
        self._more = 0

    def take(self, event: Event) -> None:
        """Add one event; they are told in their order."""
        self.index.take(event, self.watch.take(event))

    def read(self, files: Iterable[Path], progress: Callable[[int], None]) -> None:
        """Add what *files* hold."""
        for event in read_events(files, self.flawed, progress):
            self.take(event)

    def forget(self, before: datetime) -> None:
        """Let go of what was seen, and of the writes that were stored, before that time."""
        self.watch.forget(before)
        self.index.forget(before)

    def flawed(self, flaw: Flaw) -> None:
        """Note a part of the log that could not be read."""
        if len(self._flaws) < MOST_FLAWS:
            self._flaws.append(flaw)
        else:
            self._more += 1

    @property
    def knowledge(self) -> Knowledge:
        """What the link may go by."""
        return Knowledge(
            witnesses=self.index.witnesses,
            unseen=self.watch.unseen,
            audited=self._covered(),
            written=self.index.writes_to,
        )

    def _covered(self) -> tuple[datetime, datetime] | None:
        if self.watch.since is None or self.watch.until is None:
            return None
        return self.watch.since + LAG, self.watch.until - LAG

    @property
    def result(self) -> Result:
        """What the log shows that no record speaks of, and what it does not tell."""
        findings = tuple(map(finding_of, self.watch.sightings))
        return Result(findings, tuple(self.incomplete))

    @property
    def incomplete(self) -> Sequence[Incomplete]:
        """What the log does not tell, and why."""
        found = [Incomplete(f"{_place(flaw)} of the audit log", flaw.why) for flaw in self._flaws]
        if self._more:
            found.append(Incomplete(f"{self._more} more places of the audit log", "likewise"))
        why = "the audit log does not show whose objects they were to; a higher level does"
        for what, count in self.watch.untold.items():
            found.append(Incomplete(f"{count} {what}", why))
        if self.watch.until is None:
            found.append(Incomplete("the audit log", "it holds no complete event"))
        return found

    def close(self) -> None:
        """Let go of what is kept on the disk."""
        self.index.close()


def read_log(
    files: Iterable[Path], policy: Policy, progress: Callable[[int], None] = lambda _: None
) -> AuditLog:
    """Return what *files*, in any order, tell."""
    log = AuditLog(policy)
    log.read(files, progress)
    return log


def _place(flaw: Flaw) -> str:
    return f"{flaw.file}:{flaw.line}" if flaw.line else str(flaw.file)
