"""What is asked of a history. Pure: episodes in, answers out."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

from glasswarden.ledger.history.episode import Episode


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which episodes somebody asked for; an empty part asks for nothing."""

    app: str = ""
    class_: str = ""
    state: str = ""
    """`explained`, `delegated` or `unexplained`."""

    def of(self, episodes: Iterable[Episode]) -> list[Episode]:
        """Return those that are wanted."""
        return [each for each in episodes if self._wants(each)]

    def _wants(self, episode: Episode) -> bool:
        last = episode.last
        asked = (self.app, last.app), (self.class_, last.class_), (self.state, last.state)
        return all(not wanted or wanted == found for wanted, found in asked)


class Place(NamedTuple):
    """A field by its name: an object that was made anew is in the same place."""

    cluster: str
    group: str
    kind: str
    namespace: str
    name: str
    field: str


def repeated(episodes: Iterable[Episode], times: int = 2) -> dict[Place, list[Episode]]:
    """Return the places that drifted *times* or more, the most often drifted first."""
    found: dict[Place, list[Episode]] = defaultdict(list)
    for each in episodes:
        found[_place_of(each)].append(each)
    often = [(place, them) for place, them in found.items() if len(them) >= times]
    return dict(sorted(often, key=lambda pair: (-len(pair[1]), pair[0])))


class Day(NamedTuple):
    """How drift moved in a day, in UTC."""

    day: date
    opened: int
    gone: int
    open: int
    """At the day's end, or by now."""


def trend(episodes: Iterable[Episode], first: date, last: date) -> list[Day]:
    """Return each day from *first* to *last*; *episodes* are all that were open since *first*."""
    known = [*episodes]
    return [_day(known, first + timedelta(days=n)) for n in range((last - first).days + 1)]


def _day(episodes: list[Episode], day: date) -> Day:
    began = [each for each in episodes if each.first_seen.date() <= day]
    ended = [each for each in began if each.gone is not None and each.gone.date() <= day]
    return Day(
        day,
        sum(each.first_seen.date() == day for each in began),
        sum(each.gone is not None and each.gone.date() == day for each in ended),
        len(began) - len(ended),
    )


def _place_of(episode: Episode) -> Place:
    last = episode.last
    return Place(episode.cluster, last.group, last.kind, last.namespace, last.name, last.field)
