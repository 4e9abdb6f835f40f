"""The report as CSV: one line for each field of each write."""

import csv
import io
from collections.abc import Iterator
from typing import Final

from correlator.output.escape import escape_cell
from correlator.report.model import Change, Report, Seen, Unexplained, Write
from correlator.report.text import render_new, render_old, render_time, render_value

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
            lines.writerow(map(escape_cell, _cells_of(write, change)))
    for seen in report.unrecorded:
        lines.writerow(map(escape_cell, _unrecorded_cells(seen)))
    for each in report.unexplained:
        lines.writerow(map(escape_cell, _unexplained_cells(each)))
    return text.getvalue()


def _cells_of(write: Write, change: Change | None) -> tuple[str, ...]:
    subject = write.subject
    field = ("", "", "", "", "") if change is None else _field_cells(change)
    return (
        render_time(write.time),
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


def _unrecorded_cells(seen: Seen) -> Iterator[str]:
    """Yield the cells of what has no record, in the order of the columns."""
    subject = seen.subject
    told = {
        "time": render_time(seen.time),
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


def _unexplained_cells(each: Unexplained) -> Iterator[str]:
    """Yield the cells of what no record explains: before is what Git says, after what is live."""
    subject = each.subject
    told = {
        "time": render_time(each.time) if each.time else "",
        "cluster": subject.cluster,
        "actor": each.actor,
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
        "verdict": "unexplained",
        "reason": each.why,
        "field": each.path,
        "before": render_value(each.declared),
        "after": render_value(each.live),
        "live": "yes",
        "git": "no",
    }
    return (told.get(column, "") for column in COLUMNS)


def _field_cells(change: Change) -> tuple[str, ...]:
    return change.path, render_old(change), render_new(change), str(change.live), str(change.git)
