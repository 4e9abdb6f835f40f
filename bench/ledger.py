"""The ledger in SQLite: appends beside raw inserts, several writers, a million records, space."""

import random
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from bench.lab.attempts import START, WRITER, chained, usual_attempt
from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from glasswarden.ledger.chain import Chain
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.question import Indexed, Question, fields_of, indexed
from glasswarden.ledger.record import Attempt, ChangedField, Record, new_id
from glasswarden.ledger.sqlite import open_sqlite
from glasswarden.ledger.sqlite.values import joined, stored
from tests.ledger.builders import SIGNER

GOALS: Final = (
    Goal("appends in bulk, SQLite", "≥", 0.5, f"{TIMES} raw inserts"),
    Goal("4 processes append a record a commit to one SQLite file, p99", "≤", 50, "ms"),
    Goal("a question over 1 M records, SQLite, p95", "≤", 50, "ms"),
    Goal("space a record takes in SQLite, with all indexes", "≤", 1500, "bytes"),
)

BATCH: Final = 1000
ROUNDS: Final = 5
BATCHES: Final = 8
"""Commits of each side in a round."""

PROCESSES: Final = 4
SECONDS: Final = 10
"""How long the processes write."""

RECORDS: Final = 1_000_000
FILLED_AT_ONCE: Final = 25_000
OBJECTS: Final = 20_000
PEOPLE: Final = 500
APPS: Final = 400
INCIDENTS: Final = 4_000
ASKED: Final = 60
"""How often each question is asked, each time about something else."""

PATHS: Final = (
    "/spec/template/spec/containers[name=app]/image",
    "/spec/replicas",
    "/spec/template/spec/containers[name=app]/resources/limits/memory",
    "/data/config.yaml",
    "/spec/suspend",
)
"""The first ones are changed most often."""


def run(lab: Lab) -> list[Figure]:
    """Append, contend, and ask."""
    appended, space = _appends(lab)
    return [appended, _contention(lab), _questions(lab), space]


def _appends(lab: Lab) -> tuple[Figure, Figure]:
    lab.say("making records")
    records = chained(ROUNDS * BATCHES * BATCH)
    batches = [records[at : at + BATCH] for at in range(0, len(records), BATCH)]
    path = lab.folder / "appended.db"
    with closing(open_sqlite(path)) as ledger, ExitStack() as stack:
        sides: dict[str, Callable[[list[Record]], None]] = {
            "ours": ledger.append,
            "indexed": _raw(stack, lab.folder / "indexed.db", like=path),
            "plain": _raw(stack, lab.folder / "plain.db"),
        }
        rates = _by_turns(lab, sides, batches)
    plain, same = (_ratio(rates, side) for side in ("plain", "indexed"))
    told = (
        f"{times(plain)} a table with a primary key alone ({_rate(rates, 'ours')},"
        f" raw {_rate(rates, 'plain')}); {times(same)} one with the same indexes"
        f" ({_rate(rates, 'indexed')}); {BATCH} records a commit"
    )
    return GOALS[0].judged(plain, told), _space(path, records)


def _raw(stack: ExitStack, path: Path, like: Path | None = None) -> Callable[[list[Record]], None]:
    """Return what inserts into a table of the same columns, with the indexes of *like* if given."""
    connection = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    names = ", ".join(f'"{name}"' for name in Indexed._fields)
    columns = f"{names}, fields, body, digest, signature"
    connection.execute(f"CREATE TABLE record ({columns}, PRIMARY KEY (id)) WITHOUT ROWID")
    if like:
        with closing(sqlite3.connect(like)) as original:
            found = original.execute("SELECT sql FROM sqlite_schema WHERE type = 'index'")
            for (statement,) in found:
                if statement:
                    connection.execute(statement)
    marks = ", ".join("?" * (len(Indexed._fields) + 4))
    insert = f"INSERT INTO record VALUES ({marks})"  # noqa: S608 - our own words

    def store(records: list[Record]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(insert, map(_row, records))
        connection.execute("COMMIT")

    return store


def _row(record: Record) -> tuple[Any, ...]:
    return (
        *stored(indexed(record.entry)), joined(fields_of(record.entry)), record.body,
        bytes.fromhex(record.digest), record.signature,
    )  # fmt: skip


def _by_turns(
    lab: Lab, sides: dict[str, Callable[[list[Record]], None]], batches: list[list[Record]]
) -> dict[str, list[float]]:
    """Return each side's records a second, by rounds."""
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(ROUNDS):
        share = batches[number * BATCHES : (number + 1) * BATCHES]
        for name, store in sides.items():
            start = time.perf_counter()
            for batch in share:
                store(batch)
            rates[name].append(BATCHES * BATCH / (time.perf_counter() - start))
            lab.say(f"round {number + 1}/{ROUNDS}, {name}: {rates[name][-1]:,.0f} records/s")
    return rates


def _ratio(rates: dict[str, list[float]], other: str) -> float:
    pairs = zip(rates["ours"], rates[other], strict=True)
    return statistics.median(ours / theirs for ours, theirs in pairs)


def _rate(rates: dict[str, list[float]], side: str) -> str:
    return f"{statistics.median(rates[side]):,.0f}/s"


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
    path = lab.folder / "million.db"
    with closing(open_sqlite(path)) as ledger:
        end = _fill(lab, ledger)
    with closing(open_sqlite(path)) as ledger:
        p95 = {name: _p95(lab, name, ledger, ask) for name, ask in _kinds(end).items()}
    worst = max(p95, key=lambda name: p95[name])
    told = ", ".join(f"{name} {value:.1f}" for name, value in p95.items())
    return GOALS[2].judged(p95[worst], f"{p95[worst]:.1f} ms ({worst}); by question: {told}")


def _fill(lab: Lab, ledger: Ledger) -> datetime:
    """Append a million records, and return when the last one was made."""
    chain, batch, start = Chain(WRITER, SIGNER), list[Attempt](), time.monotonic()
    last = START
    for number, entry in enumerate(_archive(), start=1):
        batch.append(entry)
        if number % FILLED_AT_ONCE == 0:
            ledger.append(records := chain.link(batch))
            chain.advance(records)
            batch, last = [], entry.time
        if number % 100_000 == 0:
            lab.say(f"{number:,} records after {time.monotonic() - start:.0f} s")
    return last


def _archive() -> Iterator[Attempt]:
    """Yield a year's attempts; some objects, people and fields recur more often than others."""
    chance = random.Random(WRITER)  # noqa: S311 - the same ones in every run
    usual = usual_attempt()
    changes = [(ChangedField(path=path, old=1, new=2, manager="kubectl-edit"),) for path in PATHS]
    for number in range(RECORDS):
        time_ = START + number * timedelta(seconds=31)
        one, incident = _some(chance, OBJECTS), number * INCIDENTS // RECORDS
        act = {0: "issued", 100: "used", 200: "closed"}.get(number % 250, "")
        yield replace(
            usual,
            id=new_id(time_, chance.randbytes(10)),
            time=time_,
            verdict="deny" if chance.random() < 0.03 else "allow",
            namespace=f"team-{one % 100}",
            name=f"service-{one}",
            app=f"app-{one % APPS}",
            actor=f"person-{_some(chance, PEOPLE)}@example.com",
            changes=changes[int(len(changes) * chance.random() ** 3)],
            ticket=f"INC-{incident}" if act else "",
            grant=f"grant-{incident}" if act else "",
            grant_act=act,
            grant_expires=time_ + timedelta(hours=1) if act == "issued" else None,
        )


def _some(chance: random.Random, count: int) -> int:
    return int(count * chance.random() ** 2)


Ask = Callable[[Ledger, random.Random], object]


def _p95(lab: Lab, name: str, ledger: Ledger, ask: Ask) -> float:
    chance = random.Random(name)  # noqa: S311 - the same questions in every run
    taken = []
    for _ in range(ASKED):
        start = time.perf_counter()
        ask(ledger, chance)
        taken.append(1000 * (time.perf_counter() - start))
    p95 = statistics.quantiles(taken, n=20)[-1]
    lab.say(f"{name}: p50 {statistics.median(taken):.1f} ms, p95 {p95:.1f} ms")
    return p95


def _kinds(end: datetime) -> dict[str, Ask]:
    """Return questions by name; what is asked about recurs as it does among the records."""

    def asking(question: Callable[[random.Random], Question]) -> Ask:
        return lambda ledger, chance: ledger.ask(question(chance))

    def an_object(chance: random.Random) -> dict[str, Any]:
        number = _some(chance, OBJECTS)
        return {"namespace": f"team-{number % 100}", "name": f"service-{number}"}

    def an_actor(chance: random.Random) -> dict[str, Any]:
        return {"actor": f"person-{_some(chance, PEOPLE)}@example.com"}

    def a_day(chance: random.Random) -> dict[str, Any]:
        since = end - timedelta(days=chance.uniform(1, 300))
        return {"since": since, "until": since + timedelta(days=1)}

    return {
        "newest": asking(lambda _: Question()),
        "object": asking(lambda chance: Question(**an_object(chance))),
        "object and field": asking(
            lambda chance: Question(**an_object(chance), field=chance.choice(PATHS))
        ),
        "object, below a field": asking(
            lambda chance: Question(**an_object(chance), field="/spec/template")
        ),
        "namespace": asking(lambda chance: Question(namespace=f"team-{chance.randrange(100)}")),
        "actor": asking(lambda chance: Question(**an_actor(chance))),
        "ticket": asking(lambda chance: Question(ticket=f"INC-{chance.randrange(INCIDENTS)}")),
        "application": asking(lambda chance: Question(app=f"app-{chance.randrange(APPS)}")),
        "grant": asking(lambda chance: Question(grant=f"grant-{chance.randrange(INCIDENTS)}")),
        "denied": asking(lambda _: Question(verdict="deny")),
        "denied of an actor": asking(lambda chance: Question(verdict="deny", **an_actor(chance))),
        "day": asking(lambda chance: Question(**a_day(chance))),
        "actor on a day": asking(lambda chance: Question(**an_actor(chance), **a_day(chance))),
        "open grants": lambda ledger, chance: ledger.open_grants(
            "prod-eu", end - timedelta(days=chance.uniform(0, 9))
        ),
    }
