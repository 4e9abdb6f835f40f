"""The first five lines of a report: what somebody who was not there must know."""

from collections import Counter
from collections.abc import Iterable

from correlator.report.model import Report, Scope, Write
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


def _what_happened(report: Report) -> str:
    admitted = report.admitted
    about = _about(report.scope)
    if not admitted:
        return f"{about}: nothing was changed by hand."
    people = sorted({write.actor for write in admitted})
    objects = {(write.subject.cluster, write.subject.uid, str(write.subject)) for write in admitted}
    first, last = admitted[0].time, admitted[-1].time
    return (
        f"{about}: {_count(len(admitted), 'write')} by hand to {_count(len(objects), 'object')},"
        f" by {_listed(people)}, {_span(first, last)}."
    )


def _about(scope: Scope) -> str:
    named = [scope.ticket, scope.app, scope.namespace, scope.actor, scope.cluster]
    return ", ".join(filter(None, named)) or "All writes"


def _span(first: object, last: object) -> str:
    start, end = f"{first:%Y-%m-%d %H:%M}", f"{last:%H:%M}"
    same_day = f"{first:%Y-%m-%d}" == f"{last:%Y-%m-%d}"
    return f"from {start} to {end if same_day else f'{last:%Y-%m-%d %H:%M}'} UTC"


def _what_was_refused(denied: tuple[Write, ...]) -> str:
    if not denied:
        return "No attempt was refused."
    people = sorted({write.actor for write in denied})
    return f"{_count(len(denied), 'attempt')} refused, by {_listed(people)}."


def _what_became_of_it(report: Report) -> str:
    standing = Counter(
        change.live
        for write in report.admitted
        for change in write.changes
        if not change.superseded
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
    if report.unrecorded:
        beside += f" {_count(len(report.unrecorded), 'write')} without a record, by the audit log."
    if not report.obligations:
        return f"Nothing is known to be left to do.{beside}"
    return f"{_count(len(report.obligations), 'obligation')} open.{beside}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
