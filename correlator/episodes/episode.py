"""An episode: one finding, from when it was first observed until it was no longer found. Pure.

`advance` compares the open episodes with the findings of a pass. The rest answers questions about
episodes: which fields drift repeatedly, and how drift develops from day to day.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple, Protocol

from glasswarden.ledger.errors import LedgerError


class LeadershipLost(LedgerError):
    """Another correlator leads by now; nothing was stored. Stand by."""


class Identity(NamedTuple):
    """What makes a finding the same one as before, within a cluster."""

    group: str
    kind: str
    namespace: str
    name: str
    uid: str
    """Empty for an object that is missing."""
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedFinding:
    """A finding as one pass saw it; texts only, for a database to keep."""

    source: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    uid: str
    field: str
    declared: str
    """As JSON; empty for nothing, shortened where it is long."""
    live: str
    class_: str
    cause: str
    response: str
    reason: str = ""
    revision: str = ""
    engine: str = ""
    app: str = ""
    app_namespace: str = ""
    team: str = ""
    """Who is to be told."""
    state: str = ""
    """`explained`, `delegated` or `unexplained`; empty where nobody looked for a cause."""
    record: str = ""
    """The id of the record that explains it."""
    actor: str = ""
    ticket: str = ""
    confidence: str = ""
    why: str = ""
    """Why nothing explains it."""

    @property
    def identity(self) -> Identity:
        """Which finding it is."""
        return Identity(self.group, self.kind, self.namespace, self.name, self.uid, self.field)

    @property
    def values(self) -> tuple[str, str]:
        """What is declared, and what is live."""
        return self.declared, self.live


COLUMNS: Final = tuple(each.name for each in fields(ObservedFinding))


@dataclass(frozen=True, slots=True)
class Episode:
    """A finding over time. One that comes back is another episode."""

    id: int
    cluster: str
    last: ObservedFinding
    """As it was seen last."""
    first_seen: datetime
    last_seen: datetime
    gone: datetime | None = None
    """When it was first seen no more; none while it is open."""
    changes: int = 0
    """How often its values changed meanwhile."""


class Value(NamedTuple):
    """What an episode's values were from a moment on."""

    seen: datetime
    declared: str
    live: str


class Term(NamedTuple):
    """The right to write a cluster's history, until another takes it."""

    cluster: str
    number: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What one pass adds to a history."""

    opened: tuple[ObservedFinding, ...] = ()
    unchanged: tuple[Episode, ...] = ()
    """Seen again, as they were."""
    updated: tuple[tuple[Episode, ObservedFinding], ...] = ()
    """Seen again, otherwise than before."""
    gone: tuple[Episode, ...] = ()


class History(Protocol):
    """The episodes of all clusters in a ledger's database. An instance belongs to one thread."""

    def lead(self, cluster: str, holder: str, now: datetime) -> Term:
        """Take the right to write *cluster*'s history; whoever had it is deposed."""

    def store(self, term: Term, changes: Changes, now: datetime) -> None:
        """Store what a pass at *now* saw, all or nothing; raises `LeadershipLost`."""

    def open(self, cluster: str) -> list[Episode]:
        """Return the open episodes, oldest first."""

    def episodes(self, since: datetime, cluster: str = "") -> list[Episode]:
        """Return the episodes that were open at *since* or later, oldest first."""

    def values(self, episode: int) -> list[Value]:
        """Return an episode's values, oldest first; of very many only the last."""

    def forget(self, term: Term, before: datetime, most: int) -> int:
        """Drop what was gone *before*, and the oldest of more than *most* that are gone.

        Returns how many; raises `LeadershipLost`.
        """

    def close(self) -> None:
        """Give the database back."""


def advance(
    open_: Iterable[Episode], seen: Iterable[ObservedFinding], doubted: Callable[[Episode], bool]
) -> Changes:
    """Return what a pass adds; an unseen episode that is *doubted* stays open.

    If one finding was observed several times, the first counts.
    """
    found = {each.identity: each for each in reversed([*seen])}
    unchanged, updated, gone = [], [], []
    for episode in open_:
        observed = found.pop(episode.last.identity, None)
        if observed is None:
            if not doubted(episode):
                gone.append(episode)
        elif observed == episode.last:
            unchanged.append(episode)
        else:
            updated.append((episode, observed))
    opened = tuple(reversed(found.values()))
    return Changes(opened, tuple(unchanged), tuple(updated), tuple(gone))


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """Which episodes somebody asked for; an empty part asks for nothing."""

    app: str = ""
    class_: str = ""
    state: str = ""
    """`explained`, `delegated` or `unexplained`."""

    def select(self, episodes: Iterable[Episode]) -> list[Episode]:
        """Return those that are wanted."""
        return [each for each in episodes if self._matches(each)]

    def _matches(self, episode: Episode) -> bool:
        last = episode.last
        asked = (self.app, last.app), (self.class_, last.class_), (self.state, last.state)
        return all(not wanted or wanted == found for wanted, found in asked)


class FieldKey(NamedTuple):
    """A field by its name: an object that was made anew is in the same place."""

    cluster: str
    group: str
    kind: str
    namespace: str
    name: str
    field: str

    @property
    def subject(self) -> str:
        """The object, for people."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"


def find_repeated(episodes: Iterable[Episode], times: int = 2) -> dict[FieldKey, list[Episode]]:
    """Return the places that drifted *times* or more, the most often drifted first."""
    found: dict[FieldKey, list[Episode]] = defaultdict(list)
    for each in episodes:
        found[_field_key_of(each)].append(each)
    often = [(place, them) for place, them in found.items() if len(them) >= times]
    return dict(sorted(often, key=lambda pair: (-len(pair[1]), pair[0])))


class Day(NamedTuple):
    """How drift moved in a day, in UTC."""

    day: date
    opened: int
    gone: int
    open: int
    """At the day's end, or by now."""


def trend_of(episodes: Iterable[Episode], first: date, last: date) -> list[Day]:
    """Return each day from *first* to *last*; *episodes* are all that were open since *first*."""
    known = [*episodes]
    return [_day_of(known, first + timedelta(days=n)) for n in range((last - first).days + 1)]


def _day_of(episodes: list[Episode], day: date) -> Day:
    began = [each for each in episodes if each.first_seen.date() <= day]
    ended = [each for each in began if each.gone is not None and each.gone.date() <= day]
    return Day(
        day,
        sum(each.first_seen.date() == day for each in began),
        sum(each.gone is not None and each.gone.date() == day for each in ended),
        len(began) - len(ended),
    )


def _field_key_of(episode: Episode) -> FieldKey:
    last = episode.last
    return FieldKey(episode.cluster, last.group, last.kind, last.namespace, last.name, last.field)
