"""Findings as a table for the terminal: it fits the width, and long cells are cut in the middle."""

import textwrap
from collections.abc import Sequence
from typing import Final

from correlator.attribution.link import State
from correlator.finding import Finding, Incomplete, Result, time_as_text
from correlator.output.text import (
    NOTHING,
    columns_of,
    render_cause,
    render_declared,
    render_field,
    render_live,
    render_no_findings,
    render_object,
    render_ticket,
    render_who,
)
from glasswarden.terminal import escape_unprintable

_HEADINGS: Final = ("OBJECT", "FIELD", "GIT", "LIVE", "SINCE", "RESPONSE")
_CAUSE_HEADINGS: Final = ("WHO", "TICKET")
_NARROWEST: Final = 8
_GAP: Final = "  "
_FILLER: Final = "\ue000"
"""A character that nothing printable holds: it is for private use."""


def render_table(result: Result, width: int) -> str:
    """Return *result* for a terminal of *width* columns."""
    parts = []
    if result.findings:
        parts += _render_rows(result.findings, width)
    parts.append(_render_summary(result))
    parts += [
        line for each in result.remarks for line in ("", *_indent(escape_unprintable(each), width))
    ]
    parts += _render_incomplete(result.incomplete, width)
    return "\n".join(parts)


def _render_rows(findings: Sequence[Finding], width: int) -> list[str]:
    linked = any(each.link for each in findings)
    headings = _HEADINGS + _CAUSE_HEADINGS if linked else _HEADINGS
    rows = [
        _cells_of(each) + _cause_cells_of(each) if linked else _cells_of(each) for each in findings
    ]
    widths = _fit_widths([headings, *rows], width)
    lines = [_render_line(headings, widths)]
    for finding, row in zip(findings, rows, strict=True):
        lines.append(_render_line(row, widths))
        if finding.verdict is not None:
            why = f"{finding.verdict.kind}: {escape_unprintable(finding.verdict.reason)}"
            lines += _indent(why, width)
        if finding.link is not None:
            lines += _indent(render_cause(finding.link), width)
    return [*lines, ""]


def _cells_of(finding: Finding) -> tuple[str, ...]:
    return (
        render_object(finding),
        render_field(finding),
        render_declared(finding),
        render_live(finding),
        time_as_text(finding.since) or NOTHING,
        finding.verdict.response if finding.verdict else NOTHING,
    )


def _cause_cells_of(finding: Finding) -> tuple[str, ...]:
    return render_who(finding), render_ticket(finding)


def _fit_widths(rows: Sequence[tuple[str, ...]], width: int) -> list[int]:
    """Give each column what it wants; where that is too much, the widest ones yield."""
    wanted = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    room = max(width, len(wanted) * (_NARROWEST + len(_GAP))) - len(_GAP) * (len(wanted) - 1)
    while sum(wanted) > room:
        wanted[wanted.index(max(wanted))] -= 1
    return wanted


def _render_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    cut = [_cut(cell, size) for cell, size in zip(cells, widths, strict=True)]
    sized = zip(cut, widths, strict=True)
    return _GAP.join(cell + " " * (size - columns_of(cell)) for cell, size in sized).rstrip()


def _cut(text: str, size: int) -> str:
    """Return *text* with its middle left out where it is too long: paths differ at their ends."""
    if columns_of(text) <= size:
        return text
    head = (size - 1) // 3
    return f"{_begin(text, head)}…{_begin(text[::-1], size - 1 - head)[::-1]}"


def _begin(text: str, size: int) -> str:
    """Return as much of *text* as fits *size* columns."""
    end = len(text) if size > 0 else 0
    while columns_of(text[:end]) > size:
        end = min(end - 1, size)
    return text[:end]


def _indent(text: str, width: int) -> list[str]:
    # Wide characters count as two by standing for two while lines are broken; a line may end
    # between them, and is one column longer then.
    padded = "".join(char + _FILLER * (columns_of(char) - 1) for char in text)
    room = max(width, 20) - (_FILLER in padded)
    lines = textwrap.wrap(padded, room, initial_indent="    ", subsequent_indent="    ")
    return [line.replace(_FILLER, "") for line in lines]


def _render_summary(result: Result) -> str:
    count = len(result.findings)
    objects = len({each.ref for each in result.findings})
    if count:
        counts = f"{_render_count(count, 'finding')} in {_render_count(objects, 'object')}"
        return f"{counts}{_render_explained(result)}"
    return render_no_findings(result)


def _render_explained(result: Result) -> str:
    """Return how many are explained, delegated and unexplained, where a ledger was asked."""
    states = [each.link.state for each in result.findings if each.link]
    parts = [f"{states.count(state)} {state}" for state in State if state in states]
    return f": {', '.join(parts)}" if parts else ""


def _render_incomplete(incomplete: Sequence[Incomplete], width: int) -> list[str]:
    if not incomplete:
        return []
    lines = ["", "Not checked:"]
    for each in incomplete:
        lines += _indent(f"{escape_unprintable(each.what)}: {escape_unprintable(each.why)}", width)
    return lines


def _render_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
