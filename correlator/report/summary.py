"""The first five lines of a report: what somebody who was not there must know."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from correlator.report.model import Report, Scope, Seen, Write
from correlator.standing import Answer


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
