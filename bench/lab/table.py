"""The table on the terminal: four columns, long cells wrapped."""

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from bench.lab.figure import Figure, Holds

HEADINGS: Final = ("work", "goal", "figure", "holds")
NARROWEST: Final = 80
WIDEST: Final = 160


def render(figures: Sequence[Figure], width: int | None = None) -> str:
    """Return *figures* as a table that fits into *width* columns, the terminal's by default."""
    width = width or min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)
    rows = [(each.work, each.goal, each.figure, told(each.holds)) for each in figures]
    widths = _widths([HEADINGS, *rows], width)
    lines = [*_row(HEADINGS, widths), "  ".join("─" * each for each in widths)]
    for row in rows:
        lines += _row(row, widths)
    return "\n".join(lines)


def told(holds: Holds) -> str:
    """Return the last column's word."""
    if isinstance(holds, str):
        return holds
    return "yes" if holds else "NO"


def _widths(rows: Iterable[tuple[str, ...]], width: int) -> list[int]:
    """Give each column what it wants; where that is too much, the widest ones yield."""
    wanted = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = width - 2 * (len(wanted) - 1)
    while sum(wanted) > room:
        wanted[wanted.index(max(wanted))] -= 1
    return wanted


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [textwrap.wrap(cell, size) or [""] for cell, size in zip(cells, widths, strict=True)]
    height = max(map(len, wrapped))
    padded = [lines + [""] * (height - len(lines)) for lines in wrapped]
    return [
        "  ".join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip()
        for parts in zip(*padded, strict=True)
    ]
