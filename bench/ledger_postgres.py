"""The ledger in PostgreSQL: appends beside COPY, questions over ten million records, space."""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg

from bench.lab import archive, attempts
from bench.lab.figure import TIMES, CannotRun, Figure, Goal, times
from bench.lab.lab import Lab
from glasswarden.ledger.address import migrate_ledger, open_ledger
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.postgres.target import parameters_of
from glasswarden.ledger.question import Indexed, Question, fields_of, indexed
from glasswarden.ledger.record import Record
from tests.cache import PackageOutOfReach
from tests.postgres_server import find_programs, restartable_server

GOALS: Final = (
    Goal("appends in bulk, PostgreSQL", "≥", 0.5, f"{TIMES} COPY"),
    Goal("a question over 10 M records, PostgreSQL, p95", "≤", 100, "ms"),
    Goal("space a record takes in PostgreSQL, with all indexes", "≤", 1500, "bytes"),
)

DURABLE: Final = ("-clisten_addresses=",)
BATCH: Final = 1000
ROUNDS: Final = 5
BATCHES: Final = 8
"""Commits of each side in a round."""

RECORDS: Final = 10_000_000
SECONDS: Final = 360
"""What filling the archive may take."""

ASKED: Final = 60
"""How often each question is asked, each time about something else."""

_COLUMNS: Final = [*Indexed._fields, "body", "digest", "signature", "fields"]


def run(lab: Lab) -> list[Figure]:
    """Measure appends on a server that syncs, and questions on one that was filled fast."""
    try:
        find_programs()
    except PackageOutOfReach as error:
        raise CannotRun(f"no PostgreSQL: {error}") from error
    with restartable_server(options=DURABLE) as server:
        appended, space = _appends(lab, server.url)
    with restartable_server(options=archive.OPTIONS) as server:
        asked = _questions(lab, server.url)
    return [appended, asked, space]


def _appends(lab: Lab, url: str) -> tuple[Figure, Figure]:
    migrate_ledger(url)
    lab.say("making records")
    records = attempts.chained(ROUNDS * BATCHES * BATCH)
    batches = [records[at : at + BATCH] for at in range(0, len(records), BATCH)]
    with closing(open_ledger(url)) as ledger, _plain_tables(url) as copy_into:
        sides: dict[str, Callable[[list[Record]], None]] = {
            "ours": ledger.append,
            "indexed": copy_into("copied_indexed"),
            "plain": copy_into("copied"),
        }
        rates = _by_turns(lab, sides, batches)
        figure = GOALS[0].judged(
            _ratio(rates, "plain"),
            f"{times(_ratio(rates, 'plain'))} a table with a primary key alone"
            f" ({_rate(rates, 'ours')}, COPY {_rate(rates, 'plain')});"
            f" {times(_ratio(rates, 'indexed'))} one with the same indexes"
            f" ({_rate(rates, 'indexed')}); {BATCH} records a commit",
        )
    return figure, _space(url, records)


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


@contextmanager
def _plain_tables(url: str) -> Iterator[Callable[[str], Callable[[list[Record]], None]]]:
    """Make what COPY fills: the same columns, with a primary key alone or with all our indexes."""
    with psycopg.connect(**parameters_of(url), autocommit=True) as connection:  # type: ignore[arg-type]
        connection.execute("CREATE TABLE copied (LIKE glasswarden.record, PRIMARY KEY (id))")
        connection.execute("CREATE TABLE copied_indexed (LIKE glasswarden.record INCLUDING ALL)")
        for table in ("copied", "copied_indexed"):
            connection.execute(f"ALTER TABLE {table} ALTER field_keys SET DEFAULT '{{}}'".encode())

        def copy_into(table: str) -> Callable[[list[Record]], None]:
            names = ", ".join(f'"{name}"' for name in _COLUMNS)
            statement = f"COPY {table} ({names}) FROM STDIN".encode()

            def copy(records: list[Record]) -> None:
                with connection.cursor().copy(statement) as rows:
                    for record in records:
                        rows.write_row(_row(record))

            return copy

        yield copy_into


def _row(record: Record) -> tuple[Any, ...]:
    fields = list(fields_of(record.entry))
    return (
        *indexed(record.entry), record.body, bytes.fromhex(record.digest), record.signature, fields,
    )  # fmt: skip


def _space(url: str, records: list[Record]) -> Figure:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM glasswarden.record")
        [whole, heap] = connection.execute(
            "SELECT sum(pg_total_relation_size(relid)), sum(pg_table_size(relid))"
            " FROM pg_partition_tree('glasswarden.record') WHERE isleaf"
        ).fetchone() or [0, 0]
    each, of_table = int(whole) / len(records), int(heap) / len(records)
    body = statistics.mean(len(record.body) for record in records)
    return GOALS[2].judged(
        each,
        f"{each:,.0f} bytes: {of_table:,.0f} in the table, {each - of_table:,.0f} in indexes;"
        f" its JSON has {body:,.0f}",
    )


def _questions(lab: Lab, url: str) -> Figure:
    migrate_ledger(url)
    lab.say("filling the archive")
    made = archive.filled(url, RECORDS, SECONDS, lab.say)
    with closing(open_ledger(url)) as ledger:
        p95 = {
            name: _p95(lab, name, ledger, ask)
            for name, ask in _kinds(made.end, made.records).items()
        }
    worst = max(p95, key=lambda name: p95[name])
    told = ", ".join(f"{name} {value:.1f}" for name, value in p95.items())
    return GOALS[1].judged(
        p95[worst],
        f"{p95[worst]:.1f} ms ({worst}) over {made.records:,} records, which took"
        f" {made.seconds:.0f} s to make; by question: {told}",
    )


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


def _kinds(end: datetime, records: int) -> dict[str, Ask]:
    """Return questions by name; what is asked about recurs as it does among the records."""

    def asking(question: Callable[[random.Random], Question]) -> Ask:
        return lambda ledger, chance: ledger.ask(question(chance))

    def some(chance: random.Random, count: int) -> int:
        return int(count * chance.random() ** 2)

    def an_object(chance: random.Random) -> dict[str, Any]:
        number = some(chance, archive.OBJECTS)
        return {"namespace": f"team-{number % 200}", "name": f"service-{number}"}

    def a_day(chance: random.Random) -> dict[str, Any]:
        since = end - timedelta(days=chance.uniform(1, 300))
        return {"since": since, "until": since + timedelta(days=1)}

    return {
        "newest": asking(lambda _: Question()),
        "object": asking(lambda chance: Question(**an_object(chance))),
        "object and field": asking(
            lambda chance: Question(**an_object(chance), field=chance.choice(archive.PATHS))
        ),
        "object, below a field": asking(
            lambda chance: Question(**an_object(chance), field="/spec/template")
        ),
        "field": asking(lambda chance: Question(field=chance.choice(archive.PATHS))),
        "actor": asking(
            lambda chance: Question(actor=f"person-{some(chance, archive.PEOPLE)}@example.com")
        ),
        "ticket": asking(lambda chance: Question(ticket=f"INC-{chance.randrange(records // 500)}")),
        "application": asking(lambda chance: Question(app=f"app-{chance.randrange(archive.APPS)}")),
        "grant": asking(lambda chance: Question(grant=f"grant-{chance.randrange(records // 500)}")),
        "denied": asking(lambda _: Question(verdict="deny")),
        "denied of an actor": asking(
            lambda chance: Question(
                verdict="deny", actor=f"person-{some(chance, archive.PEOPLE)}@example.com"
            )
        ),
        "day": asking(lambda chance: Question(**a_day(chance))),
        "actor on a day": asking(
            lambda chance: Question(
                **a_day(chance), actor=f"person-{some(chance, archive.PEOPLE)}@example.com"
            )
        ),
        "open grants": lambda ledger, chance: ledger.open_grants(
            f"prod-{chance.randrange(archive.CLUSTERS)}", end - timedelta(days=chance.uniform(0, 9))
        ),
    }
