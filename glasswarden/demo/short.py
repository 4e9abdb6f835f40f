"""Drift in short: a line for each finding, from what `drift --format json` prints."""

from typing import Any, Final

import msgspec

from glasswarden.printable import printable

LONGEST: Final = 10
"""Characters of a value; its end tells more than its beginning."""


class _Object(msgspec.Struct, frozen=True):
    kind: str
    name: str
    namespace: str = ""


class _Link(msgspec.Struct, frozen=True):
    state: str = ""
    actor: str = ""
    ticket: str = ""


class _Finding(msgspec.Struct, frozen=True):
    object: _Object
    field: str
    response: str
    declared: Any = None
    live: Any = None
    source: str = ""
    kind: str = msgspec.field(name="class", default="")
    link: _Link = _Link()


class _Drift(msgspec.Struct, frozen=True):
    findings: list[_Finding]


def in_short(drift: str) -> list[str]:
    """Return a line for each finding: the object, the field, who, and what to do about it."""
    found = msgspec.json.decode(drift.encode(), type=_Drift).findings
    rows = [(*_what(each), _who(each), each.response) for each in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _what(finding: _Finding) -> tuple[str, str, str]:
    subject = f"{finding.object.kind} {finding.object.name}"
    if finding.field == "/":
        return subject, "", "written to"
    field = finding.field.rpartition("/")[2]
    return subject, field, f"{_value(finding.declared)} → {_value(finding.live)}"


def _value(given: Any) -> str:  # noqa: ANN401 - any JSON value
    text = printable(str(given))
    return text if len(text) <= LONGEST else f"…{text[-LONGEST + 1 :]}"


def _who(finding: _Finding) -> str:
    link = finding.link
    if finding.kind == "sync-availability":
        return f"[{finding.source}]"
    if not link.actor:
        return f"({link.state})"
    return f"{link.actor}, {link.ticket}" if link.ticket else f"{link.actor}, no record"
