"""Untrusted text, escaped for Markdown and for spreadsheets: here, and only here.

Names, reasons and values come from whoever wrote to the cluster. Characters with a meaning in
Markdown or in a spreadsheet are shown literally.
"""

import re
from typing import Final

from glasswarden.terminal import escape_unprintable

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~&]|^[-+#=])")
_NUMBERED: Final = re.compile(r"^(\d+)([.)])")
_LIVELY: Final = re.compile(
    r"(\b(?:[a-z]+://|mailto:|www\.)[^\s|`]+|(?<!\w)@\w[^\s|`]*)", re.IGNORECASE
)
"""What becomes a link, or calls somebody, without any mark-up around it."""

_FORMULA: Final = re.compile("(^|;)(\\s*)([=+@\uff1d\uff0b\uff20\uff0d-])")
"""Where a spreadsheet takes a text for a formula, also one that cuts cells at semicolons."""


def escape_markdown(text: str) -> str:
    """Return *text* so that Markdown shows it as it is, on one line."""
    parts = _LIVELY.split(escape_unprintable(text))
    # Only code is left alone by every reader: a backslash before an address is not.
    shown = [
        render_code(part) if index % 2 else _escape_characters(part)
        for index, part in enumerate(parts)
    ]
    return _NUMBERED.sub(r"\1\\\2", "".join(shown))


def render_code(text: str) -> str:
    """Return *text* as Markdown's code; nothing where it is empty, which code cannot be."""
    if not text:
        return ""
    inner = escape_unprintable(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", inner)), default=0) + 1)
    space = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{fence}{space}{inner}{space}{fence}"


def render_code_cell(text: str) -> str:
    """Return *text* as code in a table, whose cells end at a bar even inside of code."""
    return render_code(text).replace("|", "\\|")


def escape_cell(text: str) -> str:
    """Return *text* so that no spreadsheet takes it, or a part of it, for a formula."""
    return _FORMULA.sub(r"\1\2'\3", escape_unprintable(text))


def _escape_characters(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
