"""Text from untrusted sources, made safe for a terminal.

Names, values and reasons come from whoever wrote to the cluster. A terminal executes control
characters, and text direction marks can make a line read backwards: both are shown escaped.
"""

import unicodedata
from typing import Final

ELLIPSIS: Final = "…"
_WIDE: Final = frozenset({"W", "F"})


def escape_unprintable(text: str) -> str:
    r"""Return *text* on one line, with unprintable characters escaped: `\x1b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def width_of(text: str) -> int:
    """Return how many columns printable *text* takes."""
    return len(text) if text.isascii() else sum(map(_width_of, text))


def fit_text(text: str, width: int) -> str:
    """Return *text*, cut where it would take more than *width* columns."""
    if width_of(text) <= width:
        return text
    kept, left = [], width - 1
    for each in text:
        left -= _width_of(each)
        if left < 0:
            break
        kept.append(each)
    return "".join(kept) + ELLIPSIS if width > 0 else ""


def pad_text(text: str, width: int) -> str:
    """Return *text* with spaces up to *width* columns."""
    return text + " " * (width - width_of(text))


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
