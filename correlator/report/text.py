"""The texts that all formats of a report share: the summary, values, times and actions."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from correlator.report.model import Change, Report, Scope, Seen, Subject, Write
from correlator.still_live import OBJECT, Answer
from glasswarden.terminal import escape_unprintable


def summary_of(report: Report) -> tuple[str, ...]:
    """Return the summary of *report*, which is complete except for it."""
    return (
        _summarize_writes(report),
        _summarize_denied(report.denied),
        _summarize_states(report),
        _summarize_follow_ups(report),
        report.integrity.statement,
    )


def title_of(scope: Scope) -> str:
    """Return what a report about *scope* is called."""
    return f"Changes by hand: {describe_scope(scope) or 'all'}"


def describe_scope(scope: Scope) -> str:
    """Return the scope in words; empty where it is everything."""
    named = [scope.ticket, scope.app, scope.namespace, scope.actor]
    named += [f"cluster {scope.cluster}"] if scope.cluster else []
    named += [f"since {_render_minute(scope.since)} UTC"] if scope.since else []
    named += [f"until {_render_minute(scope.until)} UTC"] if scope.until else []
    return ", ".join(filter(None, named))


def _summarize_writes(report: Report) -> str:
    by_hand = report.by_hand
    what = describe_scope(report.scope) or "All writes"
    if not by_hand:
        return f"{what}: nothing was changed by hand."
    people = sorted({each.actor for each in by_hand})
    objects = {(each.subject.cluster, str(each.subject)) for each in by_hand}
    past = sum(isinstance(each, Seen) for each in by_hand)
    unrecorded = f"; {past} of them without a record, by the audit log" if past else ""
    return (
        f"{what}: {_render_count(len(by_hand), 'write')} by hand"
        f" to {_render_count(len(objects), 'object')},"
        f" by {_join_names(people)}, {_render_span(by_hand[0].time, by_hand[-1].time)}{unrecorded}."
    )


def _render_span(first: datetime, last: datetime) -> str:
    start, end = _render_minute(first), _render_minute(last)
    if start == end:
        return f"at {start} UTC"
    same_day = first.date() == last.date()
    return f"from {start} to {f'{last:%H:%M}' if same_day else end} UTC"


def _render_minute(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def _summarize_denied(denied: tuple[Write, ...]) -> str:
    if not denied:
        return "No attempt was denied."
    people = sorted({write.actor for write in denied})
    return f"{_render_count(len(denied), 'attempt')} denied, by {_join_names(people)}."


def _summarize_states(report: Report) -> str:
    states = Counter(
        change.live
        for write in report.changing
        for change in write.changes
        if not change.superseded and not write.is_lost
    )
    if not states:
        return "No changed field is left to check."
    parts = [
        (states[Answer.YES], "still live"),
        (states[Answer.NO], "no longer live"),
        (states[Answer.UNKNOWN], "not checked in the cluster"),
    ]
    counted = ", ".join(f"{number} {what}" for number, what in parts if number)
    return f"Of {_render_count(sum(states.values()), 'changed field')}: {counted}."


def _summarize_follow_ups(report: Report) -> str:
    unexplained = len(report.unexplained)
    beside = f" {_render_count(unexplained, 'drifted field')} unexplained." if unexplained else ""
    if not report.obligations:
        return f"No open follow-up is known.{beside}"
    return f"{_render_count(len(report.obligations), 'open follow-up')}.{beside}"


def _render_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _join_names(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


_ACTS: Final = {
    "requested": "requested break-glass on",
    "approved": "approved break-glass on",
    "issued": "used break-glass on",
    "extended": "changed the grant on",
    "closed": "closed the grant on",
    "settled": "settled the grant on",
}

LONGEST_VALUE: Final = 160
"""The longest value in characters; the JSON has all of it."""

_encode = msgspec.json.Encoder(order="sorted").encode


def render_time(time: datetime) -> str:
    """Return *time* as the report shows it."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def render_clock(time: datetime) -> str:
    """Return the time of day."""
    return f"{time.astimezone(UTC):%H:%M:%S}"


def render_old(change: Change) -> str:
    """Return the old value."""
    return change.old_note or render_value(change.old)


def render_new(change: Change) -> str:
    """Return the new value."""
    return change.new_note or render_value(change.new)


def render_value(given: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return *given* as JSON, cut to a readable length."""
    if given is msgspec.UNSET:
        return "(none)"
    text = escape_unprintable(_encode(given).decode())
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def render_action(write: Write, subject: str) -> str:
    """Return what was done, or attempted, and to which object."""
    tried = write.verb or write.operation.lower()
    if not is_grant_act(write):
        return f"{tried} {subject}"
    act = f"{_ACTS[write.grant_act]} {subject}"
    return f"{act}, with {tried}" if write.changes else act


def is_grant_act(write: Write) -> bool:
    """Return whether *write* requests, issues or ends a grant, and was allowed."""
    return write.grant_act in _ACTS and not write.is_denied


def render_unrecorded(seen: Seen, subject: str) -> str:
    """Return what was done to which object without a record."""
    return seen.did.replace(" it", f" {subject}", 1)


def render_state(change: Change, write: Write) -> str:
    """Return, in a few words, the state of what *write* changed."""
    if write.is_lost:
        return "never stored"
    if change.superseded:
        return "set again later"
    live = {Answer.YES: "still live", Answer.NO: "no longer live", Answer.UNKNOWN: ""}[change.live]
    git = {Answer.YES: "in Git", Answer.NO: "not in Git", Answer.UNKNOWN: ""}[change.git]
    if change.path == OBJECT and write.operation == "DELETE":
        live = {Answer.YES: "still deleted", Answer.NO: "recreated", Answer.UNKNOWN: ""}[
            change.live
        ]
        git = {Answer.YES: "not in Git", Answer.NO: "still in Git", Answer.UNKNOWN: ""}[change.git]
    return ", ".join(filter(None, (live, git))) or "not checked"


def render_authority(write: Write) -> str:
    """Return the ticket and the grant that the write was done under."""
    return ", ".join(filter(None, (write.ticket, f"grant {write.grant}" if write.grant else "")))


def render_subject(subject: Subject, *, several: bool) -> str:
    """Return the object, with its cluster where the report is about several."""
    return f"{subject} in cluster {subject.cluster}" if several else str(subject)
