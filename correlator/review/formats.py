"""The review for people: Markdown, a page, the terminal. Whatever people wrote is only shown."""

from collections.abc import Iterator
from typing import Final

from correlator.output.harmless import markdown
from correlator.report.page import PAGES
from correlator.report.words import moment
from correlator.review.model import Review
from correlator.review.sections import Section, sections_of, summary_of, title_of
from glasswarden.printable import printable

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
    lines = [title_of(review), "", *map(printable, summary_of(review))]
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
    rows = [tuple(_cut(printable(cell)) for cell in row) for row in section.rows]
    if not section.headings:
        return [f"  {printable(row[0])}" for row in section.rows]
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
