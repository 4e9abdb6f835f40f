"""The ledger in PostgreSQL: appends beside COPY, questions over ten million records, space."""

import random
import statistics
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, Final

import psycopg

from bench.lab import archive
from bench.lab.appending import Store, by_turns, records_to_append
from bench.lab.asking import Archive, answered, questions_about
from bench.lab.figure import TIMES, CannotRun, Figure, Goal
from bench.lab.lab import Lab
from bench.lab.reports import report_seconds
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import migrate_ledger, open_ledger
from glasswarden.ledger.postgres.session import parameters_of
from glasswarden.ledger.query import IndexedColumns, Question, columns_of, fields_of
from glasswarden.ledger.record import Record
from tests.cache import PackageOutOfReach
from tests.postgres_server import find_programs, restartable_server

GOALS: Final = (
    Goal("appends in bulk, PostgreSQL", "≥", 0.5, f"{TIMES} COPY"),
    Goal("a question over 10 M records, PostgreSQL, p95", "≤", 100, "ms"),
    Goal("space a record takes in PostgreSQL, with all indexes", "≤", 1500, "bytes"),
    Goal("a report of one ticket out of 10 M records, PostgreSQL", "≤", 2, "s"),
)

DURABLE: Final = ("-clisten_addresses=",)
RECORDS: Final = 10_000_000
SECONDS: Final = 360
"""What filling the archive may take."""

_COLUMNS: Final = [*IndexedColumns._fields, "body", "digest", "signature", "fields"]


def run(lab: Lab) -> list[Figure]:
    """Measure appends on a server that syncs, and questions on one that was filled fast."""
    try:
        find_programs()
    except PackageOutOfReach as error:
        raise CannotRun(f"no PostgreSQL: {error}") from error
    with restartable_server(options=DURABLE) as server:
        appended, space = _appends(lab, server.url)
    with restartable_server(options=archive.OPTIONS) as server:
        asked, report = _questions(lab, server.url)
    return [appended, asked, space, report]


def _appends(lab: Lab, url: str) -> tuple[Figure, Figure]:
    migrate_ledger(url)
    records = records_to_append(lab)
    with closing(open_ledger(url)) as ledger, _plain_tables(url) as copy_into:
        sides: dict[str, Store] = {
            "ours": ledger.append,
            "indexed": copy_into("copied_indexed"),
            "plain": copy_into("copied"),
        }
        rates = by_turns(lab, sides, records)
    figure = GOALS[0].judged(rates.ratio("ours", "plain"), rates.told("COPY"))
    return figure, _space(url, records)


@contextmanager
def _plain_tables(url: str) -> Iterator[Callable[[str], Store]]:
    """Make what COPY fills: the same columns, with a primary key alone or with all our indexes."""
    with psycopg.connect(**parameters_of(url), autocommit=True) as connection:  # type: ignore[arg-type]
        connection.execute("CREATE TABLE copied (LIKE glasswarden.record, PRIMARY KEY (id))")
        connection.execute("CREATE TABLE copied_indexed (LIKE glasswarden.record INCLUDING ALL)")
        for table in ("copied", "copied_indexed"):
            connection.execute(f"ALTER TABLE {table} ALTER field_keys SET DEFAULT '{{}}'".encode())

        def copy_into(table: str) -> Store:
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
        *columns_of(record.entry), record.body, bytes.fromhex(record.digest), record.signature,
        fields,
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


def _questions(lab: Lab, url: str) -> list[Figure]:
    migrate_ledger(url)
    lab.say("filling the archive")
    made = archive.filled(url, RECORDS, SECONDS, lab.say)
    incidents = made.records // archive.A_TICKET
    clusters = tuple(f"prod-{number}" for number in range(archive.CLUSTERS))
    about = Archive(
        archive.OBJECTS, archive.NAMESPACES, archive.PEOPLE, archive.APPS, incidents, clusters,
        archive.PATHS, made.end,
    )  # fmt: skip
    with closing(open_ledger(url)) as ledger:
        found = answered(lab, ledger, questions_about(about) | {"field": _a_field})
    over = f" over {made.records:,} records, which took {made.seconds:.0f} s to make"
    asked = of_so_many(GOALS[1], made.records, found.worst, found.told(over))
    seconds = report_seconds(lab, url, f"INC-{incidents // 2}")
    told = f"{seconds:.2f} s out of {made.records:,} records, the command from start to end"
    return [asked, of_so_many(GOALS[3], made.records, seconds, told)]


def of_so_many(goal: Goal, records: int, value: float, told: str) -> Figure:
    """Return the row for *value*, which holds only if it was measured on as many as it says.

    A goal that is missed on fewer is missed; one that is kept on fewer is not known to be kept.
    """
    judged = goal.judged(value, told)
    if records >= RECORDS or judged.holds is False:
        return judged
    why = f"only {records:,} of {RECORDS:,} records were made in {SECONDS} s"
    return replace(judged, holds=f"not known: {why}")


def _a_field(ledger: Ledger, chance: random.Random) -> object:
    return ledger.ask(Question(field=chance.choice(archive.PATHS)))
