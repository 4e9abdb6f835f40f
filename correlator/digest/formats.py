"""The review for people: Markdown, an HTML page, and text for the terminal, from the same sections.

Values from the cluster are always escaped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from correlator.digest.model import Application, Count, Repeated, Review
from correlator.output.escape import escape_markdown
from correlator.report.html import PAGES
from correlator.report.text import render_time
from glasswarden.terminal import escape_unprintable

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Section:
    """A titled table; without headings its rows are sentences."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def title_of(review: Review) -> str:
    """Return what the review is about."""
    return f"Drift review, {review.since:%Y-%m-%d} to {review.until:%Y-%m-%d}"


def summary_of(review: Review) -> tuple[str, ...]:
    """Return the review in a few sentences."""
    by_hand = (
        _render_trend(review.writes, f"{_render_count(review.writes.now, 'write')} allowed"),
        _render_trend(review.refused, f"{review.refused.now} denied"),
        _render_trend(review.people, f"by {_render_count(review.people.now, 'user')}"),
        _render_trend(review.grants, _render_count(review.grants.now, "new grant")),
    )
    overdue = _render_count(len(review.overdue), "overdue grant")
    lines = [
        f"By hand: {', '.join(by_hand)}.",
        f"Recurring changes: {_render_count(len(review.repeated), 'field')}.",
        f"Open follow-ups: {overdue}{_render_unchecked(review.unchecked)}.",
    ]
    if review.episodes is not None:
        began = f"Drift began {_render_count(review.episodes.now, 'time')}"
        lines.append(f"{_render_trend(review.episodes, began)}.")
    drift = review.drift
    if drift is None:
        return (*lines, "Today's drift was not checked.")
    unexplained = len(drift.unexplained)
    share = f" ({100 * unexplained // drift.fields} %)" if drift.fields else ""
    lines.append(
        f"Today: {_render_count(drift.fields, 'drifted field')}, {unexplained}{share} unexplained;"
        f" {_render_count(len(drift.orphans), 'candidate')} for pruning."
    )
    return tuple(lines)


def sections_of(review: Review) -> Iterator[Section]:
    """Yield the parts of *review* that are not empty."""
    yield from _new_section(
        "Recurring changes",
        ("object", "field", "changed", "denied", "drifted", "who", "tickets"),
        (_repeated_cells(each) for each in review.repeated),
    )
    yield from _new_section(
        "By application",
        ("application", "team", "writes", "before", "denied", "drifted", "unexplained"),
        (_application_cells(each) for each in review.applications),
    )
    yield from _new_section(
        "Overdue grants",
        ("ended", "who", "object", "ticket", "reason", "still live"),
        (
            (
                render_time(each.ended) if each.ended else UNKNOWN,
                each.grantee,
                each.subject,
                each.ticket,
                each.reason,
                ", ".join(each.fields),
            )
            for each in review.overdue
        ),
    )
    if review.drift is not None:
        drift = review.drift
        yield from _new_section(
            "Unexplained",
            ("object", "field", "why"),
            ((each.subject, each.path, each.why) for each in drift.unexplained),
        )
        yield from _new_section(
            "Candidates for pruning",
            ("object", "application"),
            ((each.subject, each.owner) for each in drift.orphans),
        )
        yield from _new_section(
            "Ignored by a rule",
            ("rule of", "what", "covers today", "at least since"),
            (
                (
                    each.whose,
                    each.what,
                    _render_covers(each.covers),
                    f"{each.since:%Y-%m-%d}" if each.since else UNKNOWN,
                )
                for each in drift.ignores
            ),
        )
    yield from _new_section("Unknown", (), ((each,) for each in review.unknown))


def _new_section(
    title: str, headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> Iterator[Section]:
    listed = tuple(rows)
    if listed:
        yield Section(title, headings, listed)


def _repeated_cells(each: Repeated) -> tuple[str, ...]:
    return (
        each.subject,
        each.path,
        str(each.times),
        str(each.refused),
        _render_number(each.came_back),
        ", ".join(each.actors),
        ", ".join(each.tickets),
    )


def _application_cells(each: Application) -> tuple[str, ...]:
    return (
        each.name or "(none)",
        each.team,
        str(each.writes.now),
        str(each.writes.before),
        str(each.refused),
        _render_number(each.drifted),
        _render_number(each.unexplained),
    )


def _render_number(number: int | None) -> str:
    return UNKNOWN if number is None else str(number)


def _render_covers(number: int) -> str:
    return str(number) if number else "nothing: consider removing it"


def _render_unchecked(number: int) -> str:
    return f", {number} that could not be checked" if number else ""


def _render_trend(count: Count, words: str) -> str:
    return f"{words} (before: {count.before})"


def _render_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_LONGEST: Final = 60


def render_markdown(review: Review) -> str:
    """Return *review* for a ticket, a wiki or a chat."""
    return "\n".join(_render_lines(review)) + "\n"


def render_page(review: Review) -> str:
    """Return *review* as one HTML file without scripts, which fetches nothing."""
    return PAGES.get_template("review.html.j2").render(
        review=review,
        title=title_of(review),
        summary=summary_of(review),
        sections=sections_of(review),
    )


def render_text(review: Review) -> str:
    """Return *review* for a terminal."""
    lines = [title_of(review), "", *map(escape_unprintable, summary_of(review))]
    for section in sections_of(review):
        lines += ["", section.title.upper(), *_render_table(section)]
    return "\n".join(lines) + "\n"


def _render_lines(review: Review) -> Iterator[str]:
    yield from (f"# {escape_markdown(title_of(review))}", "")
    yield from (f"- {escape_markdown(line)}" for line in summary_of(review))
    for section in sections_of(review):
        yield from ("", f"## {section.title}", "")
        if section.headings:
            yield f"| {' | '.join(section.headings)} |"
            yield f"|{' --- |' * len(section.headings)}"
            yield from (f"| {' | '.join(map(escape_markdown, row))} |" for row in section.rows)
        else:
            yield from (f"- {escape_markdown(row[0])}" for row in section.rows)
    yield from ("", f"Made at {render_time(review.made)} UTC. All times are UTC.")


def _render_table(section: Section) -> list[str]:
    rows = [tuple(_shorten(escape_unprintable(cell)) for cell in row) for row in section.rows]
    if not section.headings:
        return [f"  {escape_unprintable(row[0])}" for row in section.rows]
    table = [section.headings, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def _shorten(text: str) -> str:
    """Return *text* with its middle omitted where it is too long: paths differ at their ends."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 3]}…{text[len(text) - 2 * _LONGEST // 3 + 1 :]}"
