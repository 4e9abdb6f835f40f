"""One pass: sources, causes, history. Level-triggered: it works from what is there now."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from correlator.causes import Causes
from correlator.classify import Scene
from correlator.finding import Incomplete, Result
from correlator.service import metrics
from correlator.service.doubt import is_doubted
from correlator.service.passed import Found, Passed
from correlator.service.sightings import sighting_of
from correlator.service.source import Source, SourceFailed
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.history.advance import advance
from glasswarden.ledger.history.episode import Episode, History, Term

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
