"""How values, times and deeds read in a report, in whatever format."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from correlator.report.model import Change, Seen, Subject, Write
from correlator.standing import OBJECT, Answer
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


def deed(write: Write, subject: str) -> str:
    """Return what was done, or tried, to which object."""
    tried = write.verb or write.operation.lower()
    if not is_act(write):
        return f"{tried} {subject}"
    act = f"{_ACTS[write.grant_act]} {subject}"
    return f"{act}, with {tried}" if write.changes else act


def is_act(write: Write) -> bool:
    """Tell whether *write* was about a grant itself, which is a thing done and not one let in."""
    return write.grant_act in _ACTS and not write.is_denied


def passed(seen: Seen, subject: str) -> str:
    """Return what was done, to which object, without anybody being asked."""
    return seen.did.replace(" it", f" {subject}", 1)


def fate(change: Change, write: Write) -> str:
    """Return, in a few words, what became of what *write* changed."""
    if write.is_lost:
        return "never stored"
    if change.superseded:
        return "set again later"
    live = {Answer.YES: "still live", Answer.NO: "no longer live", Answer.UNKNOWN: ""}[change.live]
    git = {Answer.YES: "in Git", Answer.NO: "not in Git", Answer.UNKNOWN: ""}[change.git]
    if change.path == OBJECT and write.operation == "DELETE":
        live = {Answer.YES: "still gone", Answer.NO: "there again", Answer.UNKNOWN: ""}[change.live]
        git = {Answer.YES: "not in Git", Answer.NO: "still in Git", Answer.UNKNOWN: ""}[change.git]
    return ", ".join(filter(None, (live, git))) or "not looked at"


def under(write: Write) -> str:
    """Return by what right it was done: the ticket, and the grant."""
    return ", ".join(filter(None, (write.ticket, f"grant {write.grant}" if write.grant else "")))


def where(subject: Subject, *, several: bool) -> str:
    """Return the object, with its cluster where the report is about several."""
    return f"{subject} in cluster {subject.cluster}" if several else str(subject)
