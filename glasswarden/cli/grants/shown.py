"""Grants as they are shown: a table for people, JSON for programs."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import click
import msgspec

from correlator.grants.grant import Field, Grant, State, ref_of_attempt
from correlator.standing import OBJECT, Answer
from glasswarden.cli.breakglass.view import left
from glasswarden.cli.ledger.log_output import UNLIMITED
from glasswarden.cli.ledger.log_table import Line, change_in_words, lines_of, widths_of
from glasswarden.cli.ledger.words import counted
from glasswarden.printable import printable

HEADER: Final = Line(("TIME LEFT", "STATE", "WHO", "OBJECT", "TICKET", "FIELDS"))
COLORS: Final = {
    State.OPEN: "yellow",
    State.OVERDUE: "red",
    State.UNCHECKED: "magenta",
    State.SETTLED: "green",
}
LONG: Final = timedelta(days=2)


def show_table(grants: Sequence[Grant], now: datetime) -> None:
    """Show *grants* to a person."""
    if not grants:
        click.echo("No grant answers this.", err=True)
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED
    rows = [HEADER, *(row_of(grant, now) for grant in grants)]
    widths = widths_of(rows, [])
    for row in rows:
        for line in lines_of(row, widths, columns):
            click.echo(line)


def show_json(grants: Sequence[Grant], now: datetime) -> None:
    """Show *grants* to a program."""
    click.echo(json.dumps([document_of(grant, now) for grant in grants], indent=2))


FORMATS: Final[Mapping[str, Callable[[Sequence[Grant], datetime], None]]] = {
    "table": show_table,
    "json": show_json,
}


def row_of(grant: Grant, now: datetime) -> Line:
    """Return a grant as lines: what it is, then each field, and the reason."""
    state = grant.state(now)
    cells = (
        time_left(grant, now),
        str(state),
        grant.grantee,
        grant.subject,
        grant.ticket or "-",
        _count(grant),
    )
    details = tuple(map(printable, _details(grant, owed=state is State.OVERDUE)))
    return Line(tuple(map(printable, cells)), details, COLORS[state])


def time_left(grant: Grant, now: datetime) -> str:
    """Return how long a grant still lives, or how long ago it ended."""
    end = grant.end
    if end is None:
        return "-"
    return left(end - now) if now < end else f"{_span(now - end)} ago"


def _span(span: timedelta) -> str:
    return f"{span.days} days" if span >= LONG else left(span)


def _count(grant: Grant) -> str:
    live = sum(field.is_owed is Answer.YES for field in grant.fields)
    changed = f"{len(grant.fields)} changed"
    return f"{changed}, {live} live" if live else changed


def _details(grant: Grant, *, owed: bool) -> Iterator[str]:
    for field in grant.fields:
        changed = deed_of(field)
        place = f"{field_object(field)} " if field_object(field) != grant.subject else ""
        yield f"{place}{changed}  [{became(field)}]"
    if grant.reason:
        yield f"reason: {grant.reason}"
    if owed:
        yield f"grant: {grant.id}"  # the word by which it is settled
    if grant.outcome:
        yield f"outcome: {grant.outcome}"


def field_object(field: Field) -> str:
    """Return the object that the field is of."""
    return str(ref_of_attempt(field.attempt))


def deed_of(field: Field) -> str:
    """Return what was done to a field, or to the whole object."""
    if field.change.path != OBJECT:
        return change_in_words(field.change)
    return "deleted" if field.attempt.operation == "DELETE" else "created"


def became(field: Field) -> str:
    """Return what became of a field, in a few words."""
    if deed_of(field) == "deleted":
        return _became_deleted(field)
    if field.standing.git is Answer.YES:
        return "in Git"
    words = {Answer.YES: "still live", Answer.NO: "undone", Answer.UNKNOWN: "not looked at"}
    return words[field.standing.live]


def _became_deleted(field: Field) -> str:
    if field.standing.git is Answer.YES:
        return "not in Git either"
    words = {Answer.YES: "still gone", Answer.NO: "back again", Answer.UNKNOWN: "not looked at"}
    return words[field.standing.live]


def document_of(grant: Grant, now: datetime) -> dict[str, Any]:
    """Return a grant for a program; values that are hidden stay so."""
    return {
        "id": grant.id,
        "cluster": grant.cluster,
        "state": str(grant.state(now)),
        "grantee": grant.grantee,
        "approver": grant.approver,
        "rule": grant.rule,
        "object": grant.subject,
        "ticket": grant.ticket,
        "reason": grant.reason,
        "start": grant.start.isoformat(),
        "expires": grant.expires.isoformat() if grant.expires else None,
        "closed": grant.closed.isoformat() if grant.closed else None,
        "outcome": grant.outcome,
        "secondsLeft": _seconds_left(grant, now),
        "fields": [
            {
                "object": field_object(field),
                "live": str(field.standing.live),
                "git": str(field.standing.git),
                "record": field.attempt.id,
                **msgspec.to_builtins(field.change),
            }
            for field in grant.fields
        ],
    }


def _seconds_left(grant: Grant, now: datetime) -> int:
    return max(0, int((grant.end - now).total_seconds())) if grant.end else 0


def show_summary(grants: Sequence[Grant], now: datetime) -> None:
    """Say, beside the table, how many there are of each state."""
    states = [grant.state(now) for grant in grants]
    parts = [f"{states.count(state)} {state}" for state in State if state in states]
    if parts:
        click.echo(f"{counted(len(grants), 'grant')}: {', '.join(parts)}.", err=True)
