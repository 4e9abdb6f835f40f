"""One record, one commit: what SQLite and its indexes add to syncing a line."""

import os
import sqlite3
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, TypeAlias

from bench.lab.attempts import chained
from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from glasswarden.ledger.record import Record
from glasswarden.ledger.sqlite.file import open_sqlite

GOALS: Final = (Goal("a commit of one record, SQLite, p50", "≤", 4.0, f"{TIMES} a synced line"),)

ROUNDS: Final = 5
COMMITS: Final = 400
"""Of each side in a round."""

Store: TypeAlias = Callable[[Record], object]


def run(lab: Lab) -> list[Figure]:
    """Store the same records by turns: ours, ours without indexes, and as lines of a file."""
    records = chained(ROUNDS * COMMITS)
    with ExitStack() as stack:
        sides: dict[str, Store] = {
            "ours": _ledger(stack, lab.folder / "commit.db"),
            "without indexes": _ledger(stack, lab.folder / "commit-bare.db", indexed=False),
            "line": _file(stack, lab.folder / "commit.jsonl"),
        }
        taken: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(ROUNDS):
            share = records[number * COMMITS : (number + 1) * COMMITS]
            for name, store in sides.items():
                taken[name].append(_median_ms(store, share))
                lab.say(f"round {number + 1}/{ROUNDS}, {name}: {taken[name][-1]:.3f} ms")
    ours, bare, line = (statistics.median(each) for each in taken.values())
    ratio = statistics.median(a / b for a, b in zip(taken["ours"], taken["line"], strict=True))
    told = f"{times(ratio)} ({ours:.2f} ms, without indexes {bare:.2f} ms, a line {line:.2f} ms)"
    return [GOALS[0].judged(ratio, told)]


def _median_ms(store: Store, records: list[Record]) -> float:
    taken = []
    for record in records:
        start = time.perf_counter()
        store(record)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def _ledger(stack: ExitStack, path: Path, *, indexed: bool = True) -> Store:
    ledger = stack.enter_context(closing(open_sqlite(path)))
    if not indexed:
        with closing(sqlite3.connect(path)) as connection:
            found = connection.execute(
                "SELECT name FROM sqlite_schema"
                " WHERE type = 'index' AND tbl_name = 'record' AND sql IS NOT NULL"
            )
            for (name,) in found.fetchall():
                connection.execute(f"DROP INDEX {name}")
    return lambda record: ledger.append([record])


def _file(stack: ExitStack, path: Path) -> Store:
    file = stack.enter_context(path.open("ab", buffering=0))

    def store(record: Record) -> None:
        file.write(record.body + b"\n")
        os.fdatasync(file.fileno())

    return store
