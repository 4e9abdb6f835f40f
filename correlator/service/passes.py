"""One pass of the service: an inspection, and its findings as episodes in the history.

Level-triggered: a pass uses the current state only. What a source could not inspect stays open.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from correlator.episodes.episode import Episode, History, ObservedFinding, Term, advance
from correlator.finding import Class, Finding, Hidden, Incomplete, Result
from correlator.inspection.evidence import Evidence
from correlator.inspection.inspect import Inspection, Source, inspect
from correlator.inspection.scope import InspectionScope
from correlator.service.model import Found, Passed
from correlator.service.sources import MeasuredSource
from glasswarden.kube.compare import ABSENT, Value


def is_doubted(observed: ObservedFinding, incomplete: Iterable[Incomplete]) -> bool:
    """Return whether *observed* may still hold: something of *incomplete* may hide it."""
    return any(_hides(each, observed) for each in incomplete)


def _hides(incomplete: Incomplete, observed: ObservedFinding) -> bool:
    if incomplete.kinds and observed.kind not in incomplete.kinds:
        return False
    match incomplete.hides:
        case Hidden.ORPHANS:
            return observed.class_ == Class.ORPHAN
        case Hidden.ADDITIONS:
            return not observed.declared
        case Hidden.NONE:
            return False
        case Hidden.ANY:
            return True


LONGEST: Final = 4096
"""Characters of a value; of a longer one the beginning is kept."""


def observed_finding_of(finding: Finding, source: str, team: str) -> ObservedFinding:
    """Return *finding* as *source* found it; it was linked and classified before."""
    ref, owner, verdict, link = finding.ref, finding.owner, finding.verdict, finding.link
    fields = {
        "source": source,
        "team": team,
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
        "field": str(finding.field),
        "declared": value_text(finding.declared),
        "live": value_text(finding.live),
        "class_": verdict.kind if verdict else "",
        "cause": verdict.cause if verdict else "",
        "response": verdict.response if verdict else "",
        "reason": verdict.reason if verdict else "",
        "revision": finding.revision,
        "engine": owner.engine if owner else "",
        "app": owner.app if owner else "",
        "app_namespace": (owner.namespace or "") if owner else "",
        "state": link.state if link else "",
        "record": link.records[0] if link and link.records else "",
        "actor": link.actor if link else "",
        "ticket": link.ticket if link else "",
        "confidence": link.confidence if link else "",
        "why": link.why if link else "",
    }
    return ObservedFinding(**{name: _storable(text) for name, text in fields.items()})


def value_text(value: Value) -> str:
    """Return *value* as JSON, no longer than is kept; empty for nothing."""
    if value is ABSENT:
        return ""
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _storable(text: str) -> str:
    # PostgreSQL's text can hold neither of them; enumerations become plain texts here.
    return str(text).replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


@dataclass(frozen=True, slots=True)
class Passes:
    """Makes passes. Belongs to one thread."""

    sources: Sequence[Source]
    history: History

    def run(self, term: Term, evidence: Evidence, now: datetime) -> Passed:
        """Make one pass and store what it saw; raises `LedgerError`."""
        evidence.renew()
        measured = [MeasuredSource(each) for each in self.sources]
        inspection = inspect(evidence, measured, InspectionScope(), now)
        found = tuple(self._findings_in(inspection))
        seen = [observed_finding_of(each.finding, each.source, each.team) for each in found]
        is_doubted = partial(is_in_doubt, inspection)
        changes = advance(self.history.open(term.cluster), seen, is_doubted)
        self.history.store(term, changes, now)
        return Passed(
            now,
            term,
            evidence.policy,
            found,
            changes,
            tuple(self.history.open(term.cluster)),
            tuple(each for them in inspection.results.values() for each in them.incomplete),
            dict(inspection.failures),
        )

    def close(self) -> None:
        """Stop following."""
        for source in self.sources:
            source.close()

    def _findings_in(self, inspection: Inspection) -> Iterator[Found]:
        for source in self.sources:
            result = inspection.results.get(source.name, Result())
            yield from (Found(source.name, source.team, each) for each in result.findings)


def is_in_doubt(inspection: Inspection, episode: Episode) -> bool:
    """Return whether *episode* may be open though no source saw it."""
    name = episode.last.source
    result = inspection.results.get(name, Result())
    return name in inspection.failures or is_doubted(episode.last, result.incomplete)
