"""The first five lines of a report: what somebody who was not there must know.

How values, times and deeds read in a report, in whatever format.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from correlator.report.model import Change, Report, Scope, Seen, Subject, Write
from correlator.still_live import OBJECT, Answer
from glasswarden.terminal import escape_unprintable


def summary_of(report: Report) -> tuple[str, ...]:
    """Return the summary of *report*, which has all but that."""
    return (
        _what_happened(report),
        _what_was_refused(report.denied),
        _what_became_of_it(report),
        _what_is_left(report),
        report.integrity.statement,
    )


def title_of(scope: Scope) -> str:
    """Return what a report about *scope* is called."""
    return f"Changes by hand: {about(scope) or 'all'}"


def about(scope: Scope) -> str:
    """Return what was asked about; nothing where everything was."""
    named = [scope.ticket, scope.app, scope.namespace, scope.actor]
    named += [f"cluster {scope.cluster}"] if scope.cluster else []
    named += [f"since {_minute(scope.since)} UTC"] if scope.since else []
    named += [f"until {_minute(scope.until)} UTC"] if scope.until else []
    return ", ".join(filter(None, named))


def _what_happened(report: Report) -> str:
    by_hand = report.by_hand
    what = about(report.scope) or "All writes"
    if not by_hand:
        return f"{what}: nothing was changed by hand."
    people = sorted({each.actor for each in by_hand})
    objects = {(each.subject.cluster, str(each.subject)) for each in by_hand}
    past = sum(isinstance(each, Seen) for each in by_hand)
    unrecorded = f"; {past} of them without a record, by the audit log" if past else ""
    return (
        f"{what}: {_count(len(by_hand), 'write')} by hand to {_count(len(objects), 'object')},"
        f" by {_listed(people)}, {_span(by_hand[0].time, by_hand[-1].time)}{unrecorded}."
    )


def _span(first: datetime, last: datetime) -> str:
    start, end = _minute(first), _minute(last)
    if start == end:
        return f"at {start} UTC"
    same_day = first.date() == last.date()
    return f"from {start} to {f'{last:%H:%M}' if same_day else end} UTC"


def _minute(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def _what_was_refused(denied: tuple[Write, ...]) -> str:
    if not denied:
        return "No attempt was refused."
    people = sorted({write.actor for write in denied})
    return f"{_count(len(denied), 'attempt')} refused, by {_listed(people)}."


def _what_became_of_it(report: Report) -> str:
    standing = Counter(
        change.live
        for write in report.changing
        for change in write.changes
        if not change.superseded and not write.is_lost
    )
    if not standing:
        return "No field is left to look after."
    parts = [
        (standing[Answer.YES], "still live"),
        (standing[Answer.NO], "no longer live"),
        (standing[Answer.UNKNOWN], "not looked at in the cluster"),
    ]
    counted = ", ".join(f"{number} {what}" for number, what in parts if number)
    return f"Of {_count(sum(standing.values()), 'changed field')}: {counted}."


def _what_is_left(report: Report) -> str:
    unexplained = len(report.unexplained)
    beside = f" {_count(unexplained, 'drifted field')} unexplained." if unexplained else ""
    if not report.obligations:
        return f"Nothing is known to be left to do.{beside}"
    return f"{_count(len(report.obligations), 'obligation')} open.{beside}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


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
    text = escape_unprintable(_encode(given).decode())
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def deed(write: Write, subject: str) -> str:
    """Return what was done, or tried, to which object."""
    tried = write.verb or write.operation.lower()
    if not is_act(write):
        return f"{tried} {subject}"
    act = f"{_ACTS[write.grant_act]} {subject}"
    return f"{act}, with {tried}" if write.changes else act


def is_act(write: Write) -> bool:
    """Return whether *write* was about a grant itself, which is a thing done and not one let in."""
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
