"""Anybody's text, made fit for a terminal.

Names, values and reasons come from whoever wrote to the cluster. A terminal obeys control
characters, and text direction marks can make a line read backwards: they are shown, not sent.
"""

import unicodedata
from typing import Final

ELLIPSIS: Final = "…"
_WIDE: Final = frozenset({"W", "F"})


def printable(text: str) -> str:
    r"""Return *text* on one line, with what does not print escaped: `\x1b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def width_of(text: str) -> int:
    """Return how many columns printable *text* takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def fitted(text: str, width: int) -> str:
    """Return *text*, cut where it would take more than *width* columns."""
    if width_of(text) <= width:
        return text
    kept, left = [], width - 1
    for each in text:
        left -= _width(each)
        if left < 0:
            break
        kept.append(each)
    return "".join(kept) + ELLIPSIS if width > 0 else ""


def padded(text: str, width: int) -> str:
    """Return *text* with spaces up to *width* columns."""
    return text + " " * (width - width_of(text))


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
