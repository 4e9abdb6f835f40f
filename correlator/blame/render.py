"""The blamed object as text: who, when, why and by which revision of Git before each line."""

from collections.abc import Iterable, Sequence
from typing import Final

from correlator.blame.attribute import Attribution, Source
from correlator.blame.lines import Line
from glasswarden.printable import padded, printable, width_of

LONGEST_NAME: Final = 60
"""An account's whole name fits; what is longer loses its middle, for its ends tell it apart."""

LONGEST_REASON: Final = 40
_PROVEN: Final = (Source.RECORD, Source.AUDIT)


def render(
    lines: Sequence[tuple[Line, Attribution | None]], revisions: Sequence[str] = ()
) -> Iterable[tuple[str, str, bool]]:
    """Yield, for each line, who set it, what it says, and whether the name is proven.

    *revisions* are Git's word on each line, empty where it says something else, or nothing. A name
    that is not proven stands in brackets: colour alone would be lost on paper.
    """
    said = [attribution or Attribution() for _, attribution in lines]
    rows = [
        (_who(each), _when(each), _why(each), printable(revision))
        for each, revision in zip(said, revisions or [""] * len(lines), strict=True)
    ]
    widths = [max(map(width_of, column), default=0) for column in zip(*rows, strict=True)]
    for (line, _), each, row in zip(lines, said, rows, strict=True):
        cells = (padded(cell, width) for cell, width in zip(row, widths, strict=True) if width)
        yield "  ".join(cells), line.text, each.source in _PROVEN


def _who(attribution: Attribution) -> str:
    text = _cut(printable(attribution.who), LONGEST_NAME)
    return f"[{text}]" if text and attribution.source not in _PROVEN else text


def _when(attribution: Attribution) -> str:
    return f"{attribution.when:%Y-%m-%d %H:%M}" if attribution.when else ""


def _why(attribution: Attribution) -> str:
    reason = _cut(printable(attribution.reason), LONGEST_REASON)
    return ": ".join(filter(None, (printable(attribution.ticket), reason)))


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head = longest // 3
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"
