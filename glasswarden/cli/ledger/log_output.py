"""How writes are shown: a table for people, JSON for programs."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import click
import msgspec

from glasswarden.cli.ledger.log_table import HEADER, lines_of, row_of, widths_of
from glasswarden.ledger.record import Damaged, Record

Write: TypeAlias = tuple[Record, ...]
"""The tries of one write, oldest first."""

UNLIMITED: Final = 10_000
"""Columns where nobody looks: a pipe's reader wants everything."""


class Output(Protocol):
    """Where writes go."""

    def show(self, writes: Sequence[Write]) -> None:
        """Show *writes*; more may come."""

    def show_all(self, writes: Sequence[Write]) -> None:
        """Show *writes*, and that there are no others."""


class Table:
    """Lines for people: one a write, and one below it a changed field."""

    def __init__(self) -> None:
        self._columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED
        self._widths: list[int] = []

    def show(self, writes: Sequence[Write]) -> None:
        """Show *writes*; columns only ever grow, so that those below stand under those above."""
        rows = [row_of(write[-1], len(write)) for write in writes]
        if rows and not self._widths:
            rows.insert(0, HEADER)
        self._widths = widths_of(rows, self._widths)
        for row in rows:
            for line in lines_of(row, self._widths, self._columns):
                click.echo(line)

    def show_all(self, writes: Sequence[Write]) -> None:
        """Show *writes*, or say that there are none."""
        if not writes:
            click.echo("Nothing was recorded that answers this.", err=True)
        self.show(writes)


class JsonLines:
    """One JSON document a line."""

    def show(self, writes: Sequence[Write]) -> None:
        """Show *writes*; more may come."""
        for write in writes:
            click.echo(json.dumps(_document(write)))

    show_all = show


class Json(JsonLines):
    """One JSON array; while following, which has no end, a document a line."""

    def show_all(self, writes: Sequence[Write]) -> None:
        """Show *writes*, and that there are no others."""
        click.echo(json.dumps([_document(write) for write in writes], indent=2))


FORMATS: Final[Mapping[str, Callable[[], Output]]] = {
    "table": Table,
    "json": Json,
    "jsonl": JsonLines,
}


def _document(write: Write) -> dict[str, Any]:
    """Return the last try as it was recorded, with its digest and the ids of all tries."""
    last = write[-1]
    return _recorded(last) | {"digest": last.digest, "tries": [record.entry.id for record in write]}


def _recorded(record: Record) -> dict[str, Any]:
    recorded: dict[str, Any]
    if isinstance(record.entry, Damaged):
        recorded = msgspec.to_builtins(record.entry)
        return recorded | {"type": "damaged"}
    recorded = json.loads(record.body)
    return recorded | {"later": True} if record.is_later else recorded
