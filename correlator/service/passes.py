"""One pass: sources, causes, history. Level-triggered: it works from what is there now.

Whether what was not seen is gone, or was only not looked at. Pure.

Findings as the history keeps them: texts of bounded length.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog

from correlator.classify.rule import Scene
from correlator.episodes.episode import Episode, History, ObservedFinding, Term, advance
from correlator.finding import Class, Finding, Hidden, Incomplete, Result
from correlator.inspection.attribute import Causes
from correlator.service import metrics
from correlator.service.model import Found, Passed, Source, SourceFailed
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.ledger.errors import LedgerError


def is_doubted(sighting: ObservedFinding, incomplete: Iterable[Incomplete]) -> bool:
    """Tell whether *sighting* may still hold: something of *incomplete* may hide it."""
    return any(_hides(each, sighting) for each in incomplete)


def _hides(incomplete: Incomplete, sighting: ObservedFinding) -> bool:
    if incomplete.kinds and sighting.kind not in incomplete.kinds:
        return False
    match incomplete.hides:
        case Hidden.ORPHANS:
            return sighting.class_ == Class.ORPHAN
        case Hidden.ADDITIONS:
            return not sighting.declared
        case Hidden.NONE:
            return False
        case Hidden.ANY:
            return True


LONGEST: Final = 4096
"""Characters of a value; of a longer one the beginning is kept."""


def sighting_of(finding: Finding, source: str, team: str) -> ObservedFinding:
    """Return *finding* as *source* tells it; it was linked and classified before."""
    ref, owner, verdict, link = finding.ref, finding.owner, finding.verdict, finding.link
    told = {
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
    return ObservedFinding(**{name: _storable(text) for name, text in told.items()})


def value_text(value: Value) -> str:
    """Return *value* as JSON, no longer than is kept; empty for nothing."""
    if value is ABSENT:
        return ""
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _storable(text: str) -> str:
    # PostgreSQL's text can hold neither of them; enumerations become plain texts here.
    return str(text).replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Read:
    """What the sources said."""

    found: list[Found] = field(default_factory=list)
    incomplete: dict[str, tuple[Incomplete, ...]] = field(default_factory=dict)
    """By the source."""
    failures: dict[str, str] = field(default_factory=dict)

    def doubts(self, episode: Episode) -> bool:
        """Tell whether *episode* may be open though nobody saw it."""
        name = episode.last.source
        return name in self.failures or is_doubted(episode.last, self.incomplete.get(name, ()))


@dataclass(frozen=True, slots=True)
class Passes:
    """Makes passes. Belongs to one thread."""

    sources: Sequence[Source]
    history: History

    def run(self, term: Term, causes: Causes, now: datetime) -> Passed:
        """Make one pass and store what it saw; raises `LedgerError`."""
        read = self._read(Scene(causes.policy, now, open_grants=causes.open_grants(now)), causes)
        seen = [sighting_of(each.finding, each.source, each.team) for each in read.found]
        changes = advance(self.history.open(term.cluster), seen, read.doubts)
        self.history.store(term, changes, now)
        return Passed(
            now,
            term,
            causes.policy,
            tuple(read.found),
            changes,
            tuple(self.history.open(term.cluster)),
            tuple(each for them in read.incomplete.values() for each in them),
            read.failures,
        )

    def close(self) -> None:
        """Stop following."""
        for source in self.sources:
            source.close()

    def _read(self, scene: Scene, causes: Causes) -> _Read:
        """Ask every source; one that fails costs what it would have said."""
        read = _Read()
        for source in self.sources:
            try:
                result = source.read(scene, causes)
            except LedgerError:
                raise  # it concerns them all
            except SourceFailed as error:
                log.warning("source failed", source=source.name, reason=str(error))
                _lose(read, source, str(error))
            except Exception as error:
                log.warning("source broke", source=source.name, reason=str(error), exc_info=True)
                _lose(read, source, f"it broke: {type(error).__name__}")
            else:
                metrics.was_read(source.name, scene.now)
                _take(read, source, result)
        return read


def _take(read: _Read, source: Source, result: Result) -> None:
    read.found.extend(Found(source.name, source.team, each) for each in result.findings)
    read.incomplete[source.name] = result.incomplete


def _lose(read: _Read, source: Source, why: str) -> None:
    metrics.SOURCE_FAILURES.labels(source.name).inc()
    read.failures[source.name] = why
