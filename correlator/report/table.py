"""The report as CSV: a line for each field of each write, for a spreadsheet."""

import csv
import io
from collections.abc import Iterator
from typing import Final

from correlator.report.model import Change, Report, Seen, Write
from correlator.report.words import after, before, cell, moment

COLUMNS: Final = (
    "time",
    "cluster",
    "actor",
    "impersonator",
    "verb",
    "manager",
    "kind",
    "namespace",
    "name",
    "owner",
    "verdict",
    "clause",
    "ticket",
    "reason",
    "grant",
    "field",
    "before",
    "after",
    "live",
    "git",
    "record",
    "address",
    "user_agent",
    "stored",
)


def render_csv(report: Report) -> str:
    """Return *report* as CSV with a head line (RFC 4180)."""
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(COLUMNS)
    for write in report.writes:
        for change in write.changes or (None,):
            lines.writerow(map(cell, _cells(write, change)))
    for seen in report.unrecorded:
        lines.writerow(map(cell, _unrecorded(seen)))
    return text.getvalue()


def _cells(write: Write, change: Change | None) -> tuple[str, ...]:
    subject = write.subject
    field = ("", "", "", "", "") if change is None else _field(change)
    return (
        moment(write.time),
        subject.cluster,
        write.actor,
        write.impersonator,
        write.verb,
        write.manager,
        subject.kind,
        subject.namespace,
        subject.name,
        write.owner,
        write.verdict,
        write.clause,
        write.ticket,
        write.reason,
        write.grant,
        *field,
        write.records[-1],
        write.address,
        write.user_agent,
        str(write.stored),
    )


def _unrecorded(seen: Seen) -> Iterator[str]:
    """Yield the cells of what has no record, in the order of the columns."""
    subject = seen.subject
    told = {
        "time": moment(seen.time),
        "cluster": subject.cluster,
        "actor": seen.actor,
        "impersonator": seen.impersonator,
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
        "verdict": "unrecorded",
        "clause": seen.sort,
        "reason": seen.what,
        "address": seen.address,
        "user_agent": seen.user_agent,
        "stored": "yes",
    }
    return (told.get(column, "") for column in COLUMNS)


def _field(change: Change) -> tuple[str, ...]:
    return change.path, before(change), after(change), str(change.live), str(change.git)
