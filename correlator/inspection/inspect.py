"""One inspection: every source of findings is read by the same evidence, and concluded alike.

A source that cannot be read costs only what it would have found; that is reported with the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from typing import Protocol

from correlator.classify.rule import Scene
from correlator.finding import Finding, Incomplete, Result, join_results, sort_key_of
from correlator.inspection.conclude import conclude, conclude_reported, merge
from correlator.inspection.evidence import LEDGER, Evidence, LiveUnavailable
from correlator.inspection.scan import Scan
from correlator.inspection.scope import InspectionScope
from correlator.linker import Linking, leave_unlinked
from correlator.live.remembered import RememberedLive
from correlator.live.source import Live
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.ledger.errors import LedgerError


class SourceFailed(Exception):
    """The source could not be read now: what it found before may still be so."""


class NothingInspected(Exception):
    """No source could be read: that is neither drift nor the lack of it."""


class Source(Protocol):
    """Finds differences between what is declared and what is live. Belongs to one thread."""

    @property
    def name(self) -> str:
        """What the source is called where it fails, in findings of the service, and in metrics."""

    @property
    def team(self) -> str:
        """Who is notified of what it finds; empty where nobody in particular is."""

    @property
    def is_log(self) -> bool:
        """Whether it lists events in their order, instead of what differs now."""

    def read(self, inspection: "Pass") -> Result:
        """Return all that differs now, linked and classified.

        Raises `SourceFailed`, `LiveUnavailable` and `LedgerError`.
        """

    def close(self) -> None:
        """Stop following."""


@dataclass(slots=True)
class Pass:
    """One inspection under way: what the sources share."""

    evidence: Evidence
    scope: InspectionScope
    base: Scene
    """What findings are judged by before anything was read."""
    linker: Linking = leave_unlinked
    scans: list[Scan] = field(default_factory=list)
    """The comparisons with Git that were made."""
    found: list[Finding] = field(default_factory=list)
    """All that was concluded so far, in scope or not."""
    _scene: Scene | None = None
    _live: RememberedLive | None = None
    _owners: frozenset[Owner] = frozenset()

    @property
    def live(self) -> RememberedLive:
        """Live state, read once. Raises `LiveUnavailable`."""
        self._live = self.evidence.live(self.scope.live)
        return self._live

    def add_scan(self, scan: Scan, scene: Scene, findings: Iterable[Finding]) -> None:
        """Take in a comparison with Git, by *scene*, and all that it found."""
        self.scans.append(scan)
        self.found += findings
        self._owners |= scan.owners
        known = self._scene or self.base
        self._scene = replace(
            known,
            rolling=known.rolling | scene.rolling,
            autoscaled={**known.autoscaled, **scene.autoscaled},
            following={**known.following, **scene.following},
            ignores=(*known.ignores, *scene.ignores),
        )

    def conclude(self, reported: Result) -> Result:
        """Return what another source than Git reported, except where Git explains it better.

        Without live state, which nobody needed so far, only records and policy are used.
        """
        findings = list(self.scope.select_objects(reported).findings)
        for scan in self.scans:
            findings = scan.drop_known(findings)
        reported = replace(reported, findings=tuple(findings))
        result = self._conclude(reported, self._live)
        self.found += result.findings
        return result

    def _conclude(self, reported: Result, live: Live | None) -> Result:
        scene = self._scene or self.base
        if live is None:
            return replace(reported, findings=conclude(reported.findings, scene, self.linker))
        return conclude_reported(reported, live, scene, self.linker, self._owners)

    def has_compared(self, ref: Ref) -> bool:
        """Return whether the object was compared with Git as a whole."""
        return any(scan.has_compared(ref) for scan in self.scans)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the sources found, and what could not be inspected."""

    result: Result
    """All findings in scope; what several sources found is taken from the first."""
    results: Mapping[str, Result] = field(default_factory=dict)
    """The same by source, as each found it."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """The sources that could not be read, and why."""

    def check(self) -> None:
        """Raise `NothingInspected` where something failed and no source was read."""
        if not self.results and self.result.incomplete:
            reasons = dict.fromkeys(each.why for each in self.result.incomplete)
            raise NothingInspected("; ".join(reasons))


def inspect(
    evidence: Evidence, sources: Sequence[Source], scope: InspectionScope, now: datetime
) -> Inspection:
    """Read every one of *sources*, in the order in which they are believed.

    Raises `LedgerError` where the evidence requires a ledger and that fails.
    """
    lost: list[Incomplete] = list(evidence.unopened)
    pass_ = _begin(evidence, scope, now, lost)
    results: dict[str, Result] = {}
    failures: dict[str, str] = {}
    for source in sources:
        try:
            results[source.name] = source.read(pass_)
        except LiveUnavailable as error:
            failures[source.name] = str(error)
            lost.append(Incomplete(error.place, str(error)))
        except SourceFailed as error:
            failures[source.name] = str(error)
            lost.append(Incomplete(source.name, str(error)))
        except LedgerError as error:
            if evidence.is_ledger_required:
                raise
            failures[source.name] = str(error)
            lost.append(Incomplete(LEDGER, str(error)))
    found = _combine([(each, results[each.name]) for each in sources if each.name in results])
    result = scope.select_findings(found, now)
    result = join_results(result, Result(incomplete=tuple(dict.fromkeys(lost))))
    return Inspection(result, results, failures)


def _begin(
    evidence: Evidence, scope: InspectionScope, now: datetime, lost: list[Incomplete]
) -> Pass:
    try:
        scene = Scene(evidence.policy, now, open_grants=evidence.open_grants(now))
        return Pass(evidence, scope, scene, evidence.linker())
    except LedgerError as error:
        if evidence.is_ledger_required:
            raise
        lost.append(Incomplete(LEDGER, str(error)))
        return Pass(evidence, scope, Scene(evidence.policy, now))


def _combine(read: Sequence[tuple[Source, Result]]) -> Result:
    """Return all results as one; events of a log follow in their own order."""
    differing = [result for source, result in read if not source.is_log]
    logged = [result for source, result in read if source.is_log]
    merged = reduce(merge, differing, Result())
    findings = tuple(sorted(merged.findings, key=sort_key_of))
    titles = dict.fromkeys(each.looked_for for each in differing)
    merged = replace(merged, findings=findings, looked_for=_summarize_titles(tuple(titles)))
    return reduce(join_results, logged, merged)


def _summarize_titles(titles: tuple[str, ...]) -> str:
    # A comparison with Git finds everything that the others find.
    return (
        Result().looked_for
        if not titles or titles[0] == Result().looked_for
        else ", or ".join(titles)
    )
