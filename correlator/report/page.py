"""The report as one HTML file: no script, nothing fetched, prints well, light and dark."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from correlator.report import words
from correlator.report.model import Change, Obligation, Report
from correlator.report.timeline import timeline_of
from correlator.standing import Answer
from glasswarden.printable import printable


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
    parts = (escape(part) for part in printable(path).split("/"))
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
    "after": words.after,
    "before": words.before,
    "deed": words.deed,
    "passed": words.passed,
    "under": words.under,
    "value": words.value,
    "where": words.where,
    "fate": words.fate,
    "moment": words.moment,
    "mood": mood,
    "plain": printable,
    "steps": steps,
}
