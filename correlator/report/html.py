"""The report as one HTML file: no script, nothing fetched, prints well, light and dark.

The timeline of a report: a lane for each person, a mark for each write, a bar for each grant.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from correlator.report import text
from correlator.report.model import Change, Obligation, Report, Seen, Write
from correlator.report.text import clock, deed, passed
from correlator.still_live import Answer
from glasswarden.terminal import escape_unprintable

WIDTH: Final = 920
LANE: Final = 38
LEFT: Final = 150
RIGHT: Final = 20
TOP: Final = 8
AXIS: Final = 30
APART: Final = 22.0
"""Between two marks of one lane, so that each can be seen: moved by no more than needed."""

MOST_LANES: Final = 12
"""More people than these are drawn in one last lane."""

MOST_NUMBERS: Final = 99
"""More writes than these are marked without their number: it would not fit."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One write, placed."""

    x: float
    y: float
    kind: str
    """`allowed`, `refused`, or `past` for what got past the guard."""
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """The time for which somebody was let in."""

    x: float
    y: float
    width: float
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

    height: int
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    width: int = WIDTH
    left: int = LEFT
    right: int = WIDTH - RIGHT

    @property
    def numbered(self) -> bool:
        """Whether the marks bear the numbers of their writes."""
        return len(self.marks) <= MOST_NUMBERS


def timeline_of(report: Report) -> Timeline | None:
    """Return the timeline of *report*, none where nothing happened."""
    happened = report.happened
    if not happened:
        return None
    names = _lane_names(happened)
    lanes = {name: TOP + LANE * (index + 0.5) for index, name in enumerate(names)}
    heights = [lanes.get(each.actor, lanes[names[-1]]) for each in happened]
    axis = _Axis(happened[0].time, happened[-1].time)
    return Timeline(
        height=TOP + LANE * len(names) + AXIS,
        lanes=tuple(Lane(y, name) for name, y in lanes.items()),
        marks=tuple(_marks(happened, heights, axis)),
        bars=tuple(_bars(happened, heights, axis)),
        ticks=tuple(_ticks(axis)),
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """From a moment to a place."""

    first: datetime
    last: datetime

    def x(self, time: datetime) -> float:
        span = (self.last - self.first).total_seconds()
        share = (time - self.first).total_seconds() / span if span else 0.5
        left, right = LEFT + APART, WIDTH - RIGHT - APART
        return round(left + min(1.0, share) * (right - left), 1)


def _lane_names(happened: Sequence[Write | Seen]) -> list[str]:
    people = list(dict.fromkeys(each.actor for each in happened))
    if len(people) <= MOST_LANES:
        return people
    return [*people[: MOST_LANES - 1], f"{len(people) - MOST_LANES + 1} others"]


def _marks(
    happened: Sequence[Write | Seen], heights: Sequence[float], axis: _Axis
) -> Iterator[Mark]:
    places = [axis.x(each.time) for each in happened]
    for lane in set(heights):
        indexes = [index for index, height in enumerate(heights) if height == lane]
        for index, place in zip(indexes, spread([places[i] for i in indexes]), strict=True):
            places[index] = place
    for each, x, y in zip(happened, places, heights, strict=True):
        yield Mark(x, y, _kind(each), _label(each))


def _kind(each: Write | Seen) -> str:
    if isinstance(each, Seen):
        return "past"
    return "refused" if each.is_denied else "allowed"


def spread(places: Sequence[float]) -> list[float]:
    """Return ascending *places* moved apart, as far as the axis has room for them."""
    if not places:
        return []
    left, right = LEFT + APART, WIDTH - RIGHT - APART
    apart = min(APART, (right - left) / len(places))
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + apart) if moved else place)
    limit = right
    for index in range(len(moved) - 1, -1, -1):
        moved[index] = min(moved[index], limit)
        limit = moved[index] - apart
    return [round(place, 1) for place in moved]


_BEFORE_OR_AFTER: Final = frozenset({"requested", "settled"})
"""What is done with a grant while it is not in force."""


def _bars(happened: Sequence[Write | Seen], heights: Sequence[float], axis: _Axis) -> Iterator[Bar]:
    """Yield each grant, from its first write to its end or that of the axis."""
    grants: dict[str, list[tuple[Write, float]]] = {}
    for write, y in zip(happened, heights, strict=True):
        if isinstance(write, Seen):
            continue
        if write.grant and not write.is_denied and write.grant_act not in _BEFORE_OR_AFTER:
            grants.setdefault(write.grant, []).append((write, y))
    for uses in grants.values():
        (first, y), (last, _) = uses[0], uses[-1]
        end = last.time if last.grant_act == "closed" else last.grant_expires
        if end is None:
            continue
        start = axis.x(first.time) - APART / 2
        label = f"{first.ticket}: from {clock(first.time)} to {clock(end)}"
        yield Bar(
            round(start, 1), y, round(axis.x(end) + APART / 2 - start, 1), escape_unprintable(label)
        )


def _ticks(axis: _Axis) -> Iterator[Tick]:
    steps = 4 if axis.last > axis.first else 0
    for step in range(steps + 1):
        time = axis.first + (axis.last - axis.first) * step / max(steps, 1)
        yield Tick(axis.x(time), clock(time))


def _label(each: Write | Seen) -> str:
    subject = str(each.subject)
    if isinstance(each, Seen):
        did = f"{passed(each, subject)}, without a record"
    else:
        did = f"{deed(each, subject)}, {'refused' if each.is_denied else 'allowed'}"
    return escape_unprintable(f"{clock(each.time)} {each.actor}: {did}")


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure to begin with."""

    what: str
    says: str
    mood: str = ""


@dataclass(frozen=True, slots=True)
class Chore:
    """One command, and what it is for."""

    command: str
    obligations: tuple[Obligation, ...]


def render_page(report: Report, title: str) -> str:
    """Return *report* under *title*; whatever people wrote is escaped by the template."""
    template = PAGES.get_template("report.html.j2")
    return template.render(
        report=report,
        title=title,
        tiles=list(tiles_of(report)),
        chores=chores_of(report),
        timeline=timeline_of(report),
        several=report.is_of_several,
    )


def tiles_of(report: Report) -> Iterator[Tile]:
    """Yield what somebody sees who looks for a second."""
    due, unexplained = len(report.obligations), len(report.unexplained)
    yield Tile("written by hand", str(len(report.by_hand)))
    yield Tile("refused", str(len(report.denied)))
    yield Tile("left to do", str(due), "due" if due else "good")
    if unexplained:
        yield Tile("unexplained", str(unexplained), "bad")
    if report.unrecorded:
        yield Tile("without a record", str(len(report.unrecorded)), "bad")
    verified = {Answer.YES: ("verified", "good"), Answer.NO: ("broken", "bad")}
    yield Tile("ledger", *verified.get(report.integrity.verdict, ("not verified", "")))


def chores_of(report: Report) -> list[Chore]:
    """Return what is left to do, by the command that does it."""
    by_command = sorted(report.obligations, key=lambda each: each.command)
    return [
        Chore(command, tuple(each))
        for command, each in groupby(by_command, key=lambda each: each.command)
    ]


def steps(path: str) -> Markup:
    """Return a field's path, which may be broken into lines before each step."""
    parts = (escape(part) for part in escape_unprintable(path).split("/"))
    return Markup("<wbr>/").join(parts)


def mood(change: Change) -> str:
    """Return how a changed field looks by what became of it."""
    if change.superseded or change.live is not Answer.YES:
        return "soft"
    return "good" if change.git is Answer.YES else "due"


PAGES: Final = Environment(
    loader=PackageLoader("correlator.report", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
"""Where the templates of all pages are; each of them escapes what people wrote."""
PAGES.filters |= {
    "after": text.after,
    "before": text.before,
    "deed": text.deed,
    "passed": text.passed,
    "under": text.under,
    "value": text.value,
    "where": text.where,
    "fate": text.fate,
    "moment": text.moment,
    "mood": mood,
    "plain": escape_unprintable,
    "steps": steps,
}
