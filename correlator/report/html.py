"""The report as one HTML file: no script, no external resource, printable, light and dark.

Its timeline has a row for each person, a mark for each write and a bar for each grant.
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
from correlator.report.text import render_action, render_clock, render_unrecorded
from correlator.still_live import Answer
from glasswarden.terminal import escape_unprintable

WIDTH: Final = 920
ROW_HEIGHT: Final = 38
LEFT: Final = 150
RIGHT: Final = 20
TOP: Final = 8
AXIS: Final = 30
APART: Final = 22.0
"""Between two marks of one row, so that each can be seen: moved by no more than needed."""

MOST_ROW_HEIGHTS: Final = 12
"""The limit on rows; further people share the last one."""

MOST_NUMBERS: Final = 99
"""The limit on numbered writes; with more, the numbers would not fit."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One write, placed."""

    x: float
    y: float
    kind: str
    """`allowed`, `denied`, or `past` for what bypassed the guard."""
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """The time of a grant."""

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
class TimelineRow:
    """A person."""

    y: float
    name: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The positions of everything on the timeline; the page draws it."""

    height: int
    rows: tuple[TimelineRow, ...]
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
    names = _row_names_of(happened)
    rows = {name: TOP + ROW_HEIGHT * (index + 0.5) for index, name in enumerate(names)}
    heights = [rows.get(each.actor, rows[names[-1]]) for each in happened]
    axis = _Axis(happened[0].time, happened[-1].time)
    return Timeline(
        height=TOP + ROW_HEIGHT * len(names) + AXIS,
        rows=tuple(TimelineRow(y, name) for name, y in rows.items()),
        marks=tuple(_draw_marks(happened, heights, axis)),
        bars=tuple(_draw_bars(happened, heights, axis)),
        ticks=tuple(_draw_ticks(axis)),
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Maps a time to a position."""

    first: datetime
    last: datetime

    def x_of(self, time: datetime) -> float:
        span = (self.last - self.first).total_seconds()
        share = (time - self.first).total_seconds() / span if span else 0.5
        left, right = LEFT + APART, WIDTH - RIGHT - APART
        return round(left + min(1.0, share) * (right - left), 1)


def _row_names_of(happened: Sequence[Write | Seen]) -> list[str]:
    people = list(dict.fromkeys(each.actor for each in happened))
    if len(people) <= MOST_ROW_HEIGHTS:
        return people
    return [*people[: MOST_ROW_HEIGHTS - 1], f"{len(people) - MOST_ROW_HEIGHTS + 1} others"]


def _draw_marks(
    happened: Sequence[Write | Seen], heights: Sequence[float], axis: _Axis
) -> Iterator[Mark]:
    places = [axis.x_of(each.time) for each in happened]
    for row in set(heights):
        indexes = [index for index, height in enumerate(heights) if height == row]
        for index, place in zip(indexes, spread_apart([places[i] for i in indexes]), strict=True):
            places[index] = place
    for each, x, y in zip(happened, places, heights, strict=True):
        yield Mark(x, y, _kind_of(each), _label_of(each))


def _kind_of(each: Write | Seen) -> str:
    if isinstance(each, Seen):
        return "past"
    return "denied" if each.is_denied else "allowed"


def spread_apart(places: Sequence[float]) -> list[float]:
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


def _draw_bars(
    happened: Sequence[Write | Seen], heights: Sequence[float], axis: _Axis
) -> Iterator[Bar]:
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
        start = axis.x_of(first.time) - APART / 2
        label = f"{first.ticket}: from {render_clock(first.time)} to {render_clock(end)}"
        yield Bar(
            round(start, 1),
            y,
            round(axis.x_of(end) + APART / 2 - start, 1),
            escape_unprintable(label),
        )


def _draw_ticks(axis: _Axis) -> Iterator[Tick]:
    steps = 4 if axis.last > axis.first else 0
    for step in range(steps + 1):
        time = axis.first + (axis.last - axis.first) * step / max(steps, 1)
        yield Tick(axis.x_of(time), render_clock(time))


def _label_of(each: Write | Seen) -> str:
    subject = str(each.subject)
    if isinstance(each, Seen):
        did = f"{render_unrecorded(each, subject)}, without a record"
    else:
        did = f"{render_action(each, subject)}, {'denied' if each.is_denied else 'allowed'}"
    return escape_unprintable(f"{render_clock(each.time)} {each.actor}: {did}")


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure to begin with."""

    what: str
    says: str
    mood: str = ""


@dataclass(frozen=True, slots=True)
class FollowUp:
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
    """Yield the numbers at the top of the page."""
    due, unexplained = len(report.obligations), len(report.unexplained)
    yield Tile("written by hand", str(len(report.by_hand)))
    yield Tile("denied", str(len(report.denied)))
    yield Tile("left to do", str(due), "due" if due else "good")
    if unexplained:
        yield Tile("unexplained", str(unexplained), "bad")
    if report.unrecorded:
        yield Tile("without a record", str(len(report.unrecorded)), "bad")
    verified = {Answer.YES: ("verified", "good"), Answer.NO: ("broken", "bad")}
    yield Tile("ledger", *verified.get(report.integrity.verdict, ("not verified", "")))


def chores_of(report: Report) -> list[FollowUp]:
    """Return what is left to do, by the command that does it."""
    by_command = sorted(report.obligations, key=lambda each: each.command)
    return [
        FollowUp(command, tuple(each))
        for command, each in groupby(by_command, key=lambda each: each.command)
    ]


def render_path(path: str) -> Markup:
    """Return a field's path, which may be broken into lines before each step."""
    parts = (escape(part) for part in escape_unprintable(path).split("/"))
    return Markup("<wbr>/").join(parts)


def style_of(change: Change) -> str:
    """Return the CSS class of a changed field by its state."""
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
"""The environment of all page templates; each of them escapes its values."""
PAGES.filters |= {
    "after": text.render_new,
    "before": text.render_old,
    "deed": text.render_action,
    "passed": text.render_unrecorded,
    "under": text.render_authority,
    "value": text.render_value,
    "where": text.render_subject,
    "fate": text.render_state,
    "moment": text.render_time,
    "mood": style_of,
    "plain": escape_unprintable,
    "steps": render_path,
}
