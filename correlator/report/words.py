"""How values, times and names read in a report, and how each format keeps them from being code.

Names, reasons and values are anybody's text: what means something to a terminal, a Markdown reader
or a spreadsheet is made harmless here, and nowhere else.
"""

import re
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from correlator.report.model import Change, Write
from correlator.standing import Answer
from glasswarden.printable import printable

_ACTS: Final = {
    "requested": "asked to break the glass on",
    "approved": "approved breaking the glass on",
    "issued": "broke the glass on",
    "extended": "changed the grant on",
    "closed": "closed the grant on",
    "settled": "settled the grant on",
}

LONGEST_VALUE: Final = 160
"""Characters of a value; the whole of it is in the JSON."""

_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>|~&]|^[-+#=])")
_NUMBERED: Final = re.compile(r"^(\d+)([.)])")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_encode = msgspec.json.Encoder(order="sorted").encode


def moment(time: datetime) -> str:
    """Return *time* as the report shows it."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def clock(time: datetime) -> str:
    """Return the time of day."""
    return f"{time.astimezone(UTC):%H:%M:%S}"


def before(change: Change) -> str:
    """Return what stood there."""
    return change.old_note or value(change.old)


def after(change: Change) -> str:
    """Return what was put there."""
    return change.new_note or value(change.new)


def value(given: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return *given* as JSON, cut to a length that people read."""
    if given is msgspec.UNSET:
        return "(none)"
    text = printable(_encode(given).decode())
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def deed(write: Write) -> str:
    """Return what was done, or tried, to the object."""
    tried = write.verb or write.operation.lower()
    act = _ACTS.get(write.grant_act)
    if act is None or write.is_denied:
        return tried
    return f"{act}, with {tried}," if write.changes else act


def fate(change: Change) -> str:
    """Return, in a few words, what became of a changed field."""
    if change.superseded:
        return "set again later"
    live = {Answer.YES: "still live", Answer.NO: "no longer live", Answer.UNKNOWN: ""}[change.live]
    git = {Answer.YES: "in Git", Answer.NO: "not in Git", Answer.UNKNOWN: ""}[change.git]
    return ", ".join(filter(None, (live, git))) or "not looked at"


def markdown(text: str) -> str:
    """Return *text* so that Markdown shows it as it is."""
    return _NUMBERED.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", printable(text)))


def code(text: str) -> str:
    """Return *text* as Markdown's code, also inside a table."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    inner = printable(text).replace("|", "\\|")
    space = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{fence}{space}{inner}{space}{fence}"


def cell(text: str) -> str:
    """Return *text* so that no spreadsheet takes it for a formula."""
    text = printable(text)
    return f"'{text}" if text.startswith(_FORMULA) else text
