"""The timeline of a report: a lane for each person, a mark for each write."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from correlator.report.model import Report, Write
from correlator.report.words import clock, plain

WIDTH: Final = 920
LANE: Final = 34
LEFT: Final = 150
RIGHT: Final = 40
TOP: Final = 14
AXIS: Final = 30
MOST_LANES: Final = 12
"""More people than these are drawn in one last lane."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One write, placed."""

    x: float
    y: float
    kind: str
    """`allowed` or `refused`."""
    label: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A time on the axis."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A person."""

    y: float
    name: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where everything stands; the page draws it."""

    width: int
    height: int
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]


def timeline_of(report: Report) -> Timeline | None:
    """Return the timeline of *report*, none where nothing happened."""
    if not report.writes:
        return None
    names = _lane_names(report)
    lanes = {name: TOP + LANE * (index + 0.5) for index, name in enumerate(names)}
    times = [write.time for write in report.writes]
    first, last = min(times), max(times)
    height = TOP + LANE * len(names) + AXIS
    marks = tuple(
        Mark(
            _x(write.time, first, last),
            lanes.get(write.actor, lanes[names[-1]]),
            "refused" if write.is_denied else "allowed",
            _label(write),
        )
        for write in report.writes
    )
    ticks = tuple(_ticks(first, last))
    return Timeline(WIDTH, height, tuple(Lane(y, n) for n, y in lanes.items()), marks, ticks)


def _lane_names(report: Report) -> list[str]:
    people = list(dict.fromkeys(write.actor for write in report.writes))
    if len(people) <= MOST_LANES:
        return people
    return [*people[: MOST_LANES - 1], f"{len(people) - MOST_LANES + 1} others"]


def _x(time: datetime, first: datetime, last: datetime) -> float:
    span = (last - first).total_seconds()
    share = (time - first).total_seconds() / span if span else 0.5
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _ticks(first: datetime, last: datetime) -> Iterator[Tick]:
    steps = 4 if last > first else 0
    for step in range(steps + 1):
        time = first + (last - first) * step / max(steps, 1)
        yield Tick(_x(time, first, last), clock(time))


def _label(write: Write) -> str:
    what = write.verb or write.operation.lower()
    return plain(f"{clock(write.time)} {write.actor}: {what} {write.subject}")
