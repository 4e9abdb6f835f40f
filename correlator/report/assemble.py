"""From evidence to a report: which records it is about, what is still live, what is in Git.

Everything is read through the `Evidence`, so that a report agrees with every other command. What
could not be inspected is listed in the report.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import msgspec

from correlator.declared.manifests import Manifests
from correlator.finding import Incomplete
from correlator.grants import ref_of_attempt
from correlator.inspection.evidence import Evidence
from correlator.inspection.inspect import NothingInspected, inspect
from correlator.inspection.scope import InspectionScope
from correlator.inspection.sources import recorded_sources
from correlator.report.compose import ReportContext, compose_report, unexplained_in, unrecorded_in
from correlator.report.model import Integrity, Report, Scope, Unexplained
from correlator.report.scope import ReportScope, report_scope_of
from correlator.still_live import NotKnown
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.writes import find_attempts

MOST_OBJECTS: Final = 200
"""More objects of a ticket than these are not asked about one by one."""

_COMPARISON: Final = "what differs from Git without a record"


def assemble_report(
    evidence: Evidence, question: Question, integrity: Integrity, now: datetime
) -> Report:
    """Return the report about the records that answer *question*.

    Raises `LedgerError`, and `DeclaredUnreadable` where Git cannot be read at all.
    """
    return _Assembly(evidence, question, now).report(integrity)


@dataclass(slots=True)
class _Assembly:
    evidence: Evidence
    question: Question
    now: datetime
    incomplete: list[Incomplete] = field(default_factory=list)

    def report(self, integrity: Integrity) -> Report:
        """Return the report."""
        attempts, report_scope = self._attempts()
        self._look_up_first(attempts, report_scope)
        around = replace(self._surroundings(attempts, report_scope), integrity=integrity)
        report = compose_report(report_scope.scope, attempts, around, self.now)
        lines = (f"{each.what}: {each.why}" for each in self._find_unchecked())
        return msgspec.structs.replace(report, incomplete=tuple(dict.fromkeys(lines)))

    def _find_unchecked(self) -> Iterator[Incomplete]:
        yield from self._manifests().incomplete
        yield from self.incomplete
        yield from self.evidence.audit.incomplete if self.evidence.audit else ()
        yield from self.evidence.incomplete

    def _manifests(self) -> Manifests:
        git = self.evidence.git
        return Manifests() if git is None else self.evidence.manifests(git)

    def _attempts(self) -> tuple[list[Attempt], ReportScope]:
        """Return the report's records, oldest first, and what it is about besides.

        A denied write names no ticket: under one, the denials on its objects in its time are taken
        too.
        """
        own = self.evidence.attempts(self.question)
        report_scope = report_scope_of(scope_of(self.question), own)
        if not self.question.ticket:
            return own, report_scope
        every = {each.id: each for each in (*own, *self._find_denied(report_scope))}
        return sorted(every.values(), key=lambda each: (each.time, each.id)), report_scope

    def _find_denied(self, report_scope: ReportScope) -> Iterable[Attempt]:
        places = sorted(report_scope.objects)
        if len(places) > MOST_OBJECTS:
            what = f"attempts denied on {len(places) - MOST_OBJECTS} more objects"
            self.incomplete.append(Incomplete(what, "too many to ask for"))
        for place in places[:MOST_OBJECTS]:
            question = Question(
                cluster=self.question.cluster,
                **place._asdict(),
                actor=self.question.actor,
                verdict="deny",
                since=report_scope.begin,
                until=report_scope.end,
                limit=self.question.limit,
            )
            if self.evidence.ledger is not None:
                yield from find_attempts(self.evidence.ledger, question)

    def _scope(self, report_scope: ReportScope) -> InspectionScope:
        return InspectionScope(
            report_scope.scope.app, report_scope.scope.namespace, home=report_scope.namespace
        )

    def _look_up_first(self, attempts: Iterable[Attempt], report_scope: ReportScope) -> None:
        """Read the objects of the writes before anything is compared: each has one state then."""
        if not self.evidence.has_live:
            return
        self.evidence.live_scope = self._scope(report_scope).live
        for ref in dict.fromkeys(ref_of_attempt(each) for each in attempts if _is_written(each)):
            with suppress(NotKnown):
                self.evidence.look_up(ref)

    def _surroundings(self, attempts: list[Attempt], report_scope: ReportScope) -> ReportContext:
        evidence = self.evidence
        around = ReportContext(
            check_field=evidence.field_states(),
            open_grants=self._open_grants(attempts),
            unexplained=self._find_unexplained(report_scope),
        )
        if evidence.git is not None and not evidence.git.address.is_remote:
            path = ("--path", evidence.git.path) if evidence.git.path else ()
            repository = ("--repo", evidence.git.repository, *path)
            around = replace(around, repository=repository)
        if evidence.audit is None:
            return around
        return replace(
            around,
            witnesses=evidence.audit.index.witnesses,
            unrecorded=unrecorded_in(
                evidence.audit.watch.observed_writes, report_scope, evidence.cluster
            ),
        )

    def _open_grants(self, attempts: Iterable[Attempt]) -> frozenset[str]:
        ledger = self.evidence.ledger
        return frozenset(
            record.entry.grant
            for cluster in {attempt.cluster for attempt in attempts}
            for record in (ledger.open_grants(cluster, self.now) if ledger else ())
            if isinstance(record.entry, Attempt)
        )

    def _find_unexplained(self, report_scope: ReportScope) -> tuple[Unexplained, ...] | None:
        """Return what differs from Git without a record; none where nothing was compared."""
        if reason := self._why_not_compared():
            self.incomplete.append(Incomplete(_COMPARISON, reason))
            return None
        scope = self._scope(report_scope)
        sources = recorded_sources(self.evidence, scope)
        inspection = inspect(self.evidence, sources, scope, self.now)
        try:
            inspection.check()
        except NothingInspected as error:
            self.incomplete.append(Incomplete(_COMPARISON, str(error)))
            return None
        self.incomplete += inspection.result.incomplete
        return unexplained_in(inspection.result.findings, report_scope, self.evidence.cluster)

    def _why_not_compared(self) -> str:
        if self.evidence.git is None:
            return "needs --git"
        return "" if self.evidence.has_live else "no cluster was asked (--no-live)"


def _is_written(attempt: Attempt) -> bool:
    return attempt.verdict == "allow" and bool(attempt.name)


def scope_of(question: Question) -> Scope:
    """Return *question* as a report states it."""
    return Scope(
        ticket=question.ticket or "",
        actor=question.actor or "",
        app=question.app or "",
        namespace=question.namespace or "",
        cluster=question.cluster or "",
        since=question.since,
        until=question.until,
    )
