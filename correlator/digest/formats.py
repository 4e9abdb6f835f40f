"""The review for people: Markdown, a page, the terminal. Whatever people wrote is only shown.

A review as titles, sentences and tables: what all formats for people share.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from correlator.digest.model import Application, Count, Repeated, Review
from correlator.output.escape import markdown
from correlator.report.html import PAGES
from correlator.report.text import moment
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
        _trend(review.writes, f"{_count(review.writes.now, 'write')} let in"),
        _trend(review.refused, f"{review.refused.now} refused"),
        _trend(review.people, f"by {_count(review.people.now, 'user')}"),
        _trend(review.grants, _count(review.grants.now, "new grant")),
    )
    lines = [
        f"By hand: {', '.join(by_hand)}.",
        f"Changed again and again: {_count(len(review.repeated), 'field')}.",
        f"Owed: {_count(len(review.overdue), 'grant')} overdue{_unchecked(review.unchecked)}.",
    ]
    if review.episodes is not None:
        began = f"Drift began {_count(review.episodes.now, 'time')}"
        lines.append(f"{_trend(review.episodes, began)}.")
    drift = review.drift
    if drift is None:
        return (*lines, "What differs today was not looked at.")
    unexplained = len(drift.unexplained)
    share = f" ({100 * unexplained // drift.fields} %)" if drift.fields else ""
    lines.append(
        f"Today: {_count(drift.fields, 'drifted field')}, {unexplained}{share} unexplained;"
        f" {_count(len(drift.orphans), 'candidate')} for pruning."
    )
    return tuple(lines)


def sections_of(review: Review) -> Iterator[Section]:
    """Yield the parts of *review* that have anything to say."""
    yield from _section(
        "Changed again and again",
        ("object", "field", "changed", "refused", "drifted", "who", "tickets"),
        (_repeated(each) for each in review.repeated),
    )
    yield from _section(
        "By application",
        ("application", "team", "writes", "before", "refused", "drifted", "unexplained"),
        (_application(each) for each in review.applications),
    )
    yield from _section(
        "Overdue grants",
        ("ended", "who", "object", "ticket", "reason", "still live"),
        (
            (
                moment(each.ended) if each.ended else UNKNOWN,
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
        yield from _section(
            "Unexplained",
            ("object", "field", "why"),
            ((each.subject, each.path, each.why) for each in drift.unexplained),
        )
        yield from _section(
            "Candidates for pruning",
            ("object", "application"),
            ((each.subject, each.owner) for each in drift.orphans),
        )
        yield from _section(
            "Left alone by a rule",
            ("whose rule", "what", "covers today", "at least since"),
            (
                (
                    each.whose,
                    each.what,
                    _covers(each.covers),
                    f"{each.since:%Y-%m-%d}" if each.since else UNKNOWN,
                )
                for each in drift.ignores
            ),
        )
    yield from _section("Not known", (), ((each,) for each in review.unknown))


def _section(
    title: str, headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> Iterator[Section]:
    listed = tuple(rows)
    if listed:
        yield Section(title, headings, listed)


def _repeated(each: Repeated) -> tuple[str, ...]:
    return (
        each.subject,
        each.path,
        str(each.times),
        str(each.refused),
        _known(each.came_back),
        ", ".join(each.actors),
        ", ".join(each.tickets),
    )


def _application(each: Application) -> tuple[str, ...]:
    return (
        each.name or "(none)",
        each.team,
        str(each.writes.now),
        str(each.writes.before),
        str(each.refused),
        _known(each.drifted),
        _known(each.unexplained),
    )


def _known(number: int | None) -> str:
    return UNKNOWN if number is None else str(number)


def _covers(number: int) -> str:
    return str(number) if number else "nothing: can it go?"


def _unchecked(number: int) -> str:
    return f", {number} that nobody could look into" if number else ""


def _trend(count: Count, words: str) -> str:
    return f"{words} (before: {count.before})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_LONGEST: Final = 60


def render_markdown(review: Review) -> str:
    """Return *review* for a ticket, a wiki or a chat."""
    return "\n".join(_markdown(review)) + "\n"


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
        lines += ["", section.title.upper(), *_columns(section)]
    return "\n".join(lines) + "\n"


def _markdown(review: Review) -> Iterator[str]:
    yield from (f"# {markdown(title_of(review))}", "")
    yield from (f"- {markdown(line)}" for line in summary_of(review))
    for section in sections_of(review):
        yield from ("", f"## {section.title}", "")
        if section.headings:
            yield f"| {' | '.join(section.headings)} |"
            yield f"|{' --- |' * len(section.headings)}"
            yield from (f"| {' | '.join(map(markdown, row))} |" for row in section.rows)
        else:
            yield from (f"- {markdown(row[0])}" for row in section.rows)
    yield from ("", f"Made at {moment(review.made)} UTC. All times are UTC.")


def _columns(section: Section) -> list[str]:
    rows = [tuple(_cut(escape_unprintable(cell)) for cell in row) for row in section.rows]
    if not section.headings:
        return [f"  {escape_unprintable(row[0])}" for row in section.rows]
    table = [section.headings, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def _cut(text: str) -> str:
    """Return *text* with its middle left out where it is too long: paths differ at their ends."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 3]}…{text[len(text) - 2 * _LONGEST // 3 + 1 :]}"
