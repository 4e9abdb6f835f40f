"""Steps of a history as they are shown: a table for people, JSON for programs."""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from correlator.finding import HIDDEN, time_as_text
from correlator.history.chain import Fate, Step
from correlator.history.side import Side
from glasswarden.cli.ledger.log_output import UNLIMITED
from glasswarden.cli.ledger.log_table import Line, lines_of, widths_of
from glasswarden.kube.compare import ABSENT
from glasswarden.printable import printable

HEADER: Final = Line(("TIME (UTC)", "STATE", "WHO", "FIELD", "CHANGE", "TICKET"))
COLORS: Final = {
    Fate.DENIED: "red",
    Fate.REFUSED: "red",
    Fate.STORED: "green",
    Fate.UNRECORDED: "yellow",
}
_WHOLE: Final = {"CREATE": "created", "DELETE": "deleted"}


def show_table(steps: Sequence[Step]) -> None:
    """Show *steps* to a person."""
    if not steps:
        click.echo("Nothing was recorded of this.", err=True)
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED
    rows = [HEADER, *map(_row, steps)]
    widths = widths_of(rows, [])
    for row in rows:
        for line in lines_of(row, widths, columns):
            click.echo(line)


def document_of(step: Step) -> dict[str, Any]:
    """Return *step* for a program; null stands for what is not there, or not known."""
    return {
        "field": step.path,
        "state": str(step.fate),
        "evidence": step.evidence,
        "time": time_as_text(step.time),
        "actor": step.actor,
        "manager": step.manager,
        "operation": step.operation,
        "did": step.did,
        "before": _plain(step.before),
        "after": _plain(step.after),
        "ticket": step.ticket,
        "reason": step.reason,
        "grant": step.grant,
        "records": list(step.records),
        "uid": step.uid,
    }


def _row(step: Step) -> Line:
    cells = (
        f"{step.time:%Y-%m-%d %H:%M:%S}" if step.time else "-",
        str(step.fate),
        step.actor or (f"[{step.manager}]" if step.manager else "-"),
        step.path,
        step.did or _WHOLE.get(step.operation) or f"{_text(step.before)} → {_text(step.after)}",
        step.ticket or "-",
    )
    details = tuple(map(printable, _details(step)))
    return Line(tuple(map(printable, cells)), details, COLORS.get(step.fate))


def _details(step: Step) -> Iterator[str]:
    if step.reason:
        yield f"reason: {step.reason}"
    if step.fate is Fate.UNRECORDED:
        yield step.evidence


def _text(side: Side) -> str:
    if side.is_plain and side.value is ABSENT:
        return "(none)"
    return json.dumps(_plain(side), ensure_ascii=False) if side.is_plain else str(_plain(side))


def _plain(side: Side) -> Any:  # noqa: ANN401 - any JSON value
    if side.masked:
        return HIDDEN
    if side.cut is not None:
        return f"({side.cut.length} bytes)"
    return None if side.value is ABSENT else side.value
