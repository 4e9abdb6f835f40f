"""The blamed object as text: who and when before each line."""

from collections.abc import Iterable, Sequence
from typing import Final

from correlator.blame.attribute import Attribution, Source
from correlator.blame.lines import Line
from glasswarden.printable import printable

LONGEST_NAME: Final = 28


def render(lines: Sequence[tuple[Line, Attribution | None]]) -> Iterable[tuple[str, str, bool]]:
    """Yield, for each line, who set it, what it says, and whether the name is proven."""
    names = [_who(attribution) for _, attribution in lines]
    times = [_when(attribution) for _, attribution in lines]
    tickets = [attribution.ticket if attribution else "" for _, attribution in lines]
    widths = [max(map(len, column), default=0) for column in (names, times, tickets)]
    for (line, attribution), *cells in zip(lines, names, times, tickets, strict=True):
        margin = "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True))
        proven = attribution is not None and attribution.source in (Source.RECORD, Source.AUDIT)
        yield margin, line.text, proven


def _who(attribution: Attribution | None) -> str:
    name = attribution.who if attribution else ""
    text = printable(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _when(attribution: Attribution | None) -> str:
    return f"{attribution.when:%Y-%m-%d %H:%M}" if attribution and attribution.when else ""
