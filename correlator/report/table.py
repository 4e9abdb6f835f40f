"""The report as CSV: a line for each field of each write, for a spreadsheet."""

import csv
import io
from typing import Final

from correlator.report.model import Change, Report, Write
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
)


def render_csv(report: Report) -> str:
    """Return *report* as CSV with a head line (RFC 4180)."""
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(COLUMNS)
    for write in report.writes:
        for change in write.changes or (None,):
            lines.writerow(map(cell, _cells(write, change)))
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
    )


def _field(change: Change) -> tuple[str, ...]:
    return change.path, before(change), after(change), str(change.live), str(change.git)
