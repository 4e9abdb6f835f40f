"""The ledger in SQLite: appends beside raw inserts, several writers, a million records, space."""

import sqlite3
import statistics
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

from bench.lab import million
from bench.lab.appending import Store, by_turns, records_to_append
from bench.lab.asking import Archive, answered, questions_about
from bench.lab.attempts import WRITER
from bench.lab.figure import TIMES, Figure, Goal
from bench.lab.lab import Lab
from glasswarden.ledger.query import IndexedColumns, columns_of, fields_of
from glasswarden.ledger.record import Record
from glasswarden.ledger.sqlite.file import open_sqlite, tune_for_bulk
from glasswarden.ledger.sqlite.storage import cells_of_columns, join_paths

GOALS: Final = (
    Goal("appends in bulk, SQLite", "≥", 0.5, f"{TIMES} raw inserts"),
    Goal("4 processes append a record a commit to one SQLite file, p99", "≤", 50, "ms"),
    Goal("a question over 1 M records, SQLite, p95", "≤", 50, "ms"),
    Goal("space a record takes in SQLite, with all indexes", "≤", 1500, "bytes"),
)

PROCESSES: Final = 4
SECONDS: Final = 10
"""How long the processes write."""


def run(lab: Lab) -> list[Figure]:
    """Append, contend, and ask."""
    appended, space = _appends(lab)
    return [appended, _contention(lab), _questions(lab), space]


def _appends(lab: Lab) -> tuple[Figure, Figure]:
    records = records_to_append(lab)
    path = lab.folder / "appended.db"
    with closing(open_sqlite(path, in_bulk=True)) as ledger, ExitStack() as stack:
        sides: dict[str, Store] = {
            "ours": ledger.append,
            "indexed": _raw(stack, lab.folder / "indexed.db", like=path),
            "plain": _raw(stack, lab.folder / "plain.db"),
        }
        rates = by_turns(lab, sides, records)
    appended = GOALS[0].judged(rates.ratio("ours", "plain"), rates.told("raw"))
    return appended, _space(path, records)


def _raw(stack: ExitStack, path: Path, like: Path | None = None) -> Store:
    """Return what inserts into a table of the same columns, with the indexes of *like* if given."""
    connection = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    tune_for_bulk(connection)
    names = ", ".join(f'"{name}"' for name in IndexedColumns._fields)
    columns = f"{names}, fields, body, digest, signature"
    connection.execute(f"CREATE TABLE record ({columns}, PRIMARY KEY (id)) WITHOUT ROWID")
    if like:
        with closing(sqlite3.connect(like)) as original:
            found = original.execute(
                "SELECT sql FROM sqlite_schema"
                " WHERE type = 'index' AND tbl_name = 'record' AND sql IS NOT NULL"
            )
            for (statement,) in found:
                connection.execute(statement)
    marks = ", ".join("?" * (len(IndexedColumns._fields) + 4))
    insert = f"INSERT INTO record VALUES ({marks})"  # noqa: S608 - our own words

    def store(records: list[Record]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(insert, map(_row, records))
        connection.execute("COMMIT")

    return store


def _row(record: Record) -> tuple[Any, ...]:
    return (
        *cells_of_columns(columns_of(record.entry)), join_paths(fields_of(record.entry)),
        record.body, bytes.fromhex(record.digest), record.signature,
    )  # fmt: skip


def _space(path: Path, records: list[Record]) -> Figure:
    each = path.stat().st_size / len(records)  # closed: the log has been carried over
    body = statistics.mean(len(record.body) for record in records)
    told = f"{each:,.0f} bytes; three fields changed, its JSON has {body:,.0f}"
    return GOALS[3].judged(each, told)


def _contention(lab: Lab) -> Figure:
    path = lab.folder / "contended.db"
    open_sqlite(path).close()
    lab.say(f"{PROCESSES} processes write for {SECONDS} s")
    command = [sys.executable, "-m", "bench.lab.appender", str(path), str(SECONDS)]
    writers = [
        subprocess.Popen([*command, f"{WRITER}-{number}"], stdout=subprocess.PIPE, text=True)
        for number in range(PROCESSES)
    ]
    outputs = [writer.communicate(timeout=SECONDS * 10)[0] for writer in writers]
    taken = [[float(line) for line in output.splitlines()] for output in outputs]
    counts = sorted(map(len, taken))
    cuts = statistics.quantiles((each for times in taken for each in times), n=100)
    told = (
        f"{cuts[98]:.1f} ms (p50 {cuts[49]:.1f} ms; the processes stored"
        f" {', '.join(map(str, counts))} in {SECONDS} s)"
    )
    lab.say(told)
    return GOALS[1].judged(cuts[98], told)


def _questions(lab: Lab) -> Figure:
    archive = Archive(
        million.OBJECTS, million.NAMESPACES, million.PEOPLE, million.APPS, million.INCIDENTS,
        (million.CLUSTER,), million.PATHS, million.END,
    )  # fmt: skip
    with closing(open_sqlite(million.million(lab))) as ledger:
        found = answered(lab, ledger, questions_about(archive))
    return GOALS[2].judged(found.worst, found.told())
