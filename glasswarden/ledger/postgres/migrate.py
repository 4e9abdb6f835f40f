"""Bring the tables to this program's version, and tell whether they are."""

from typing import Final

from psycopg import errors
from psycopg.abc import Query

from glasswarden import __version__
from glasswarden.ledger.errors import LaterTables, MigrationNeeded
from glasswarden.ledger.postgres.schema import MIGRATIONS
from glasswarden.ledger.postgres.session import Connection, Session
from glasswarden.ledger.postgres.target import parameters_of

VERSION: Final = MIGRATIONS[-1].number

MONTHS_AHEAD: Final = 3

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('glasswarden.migrate', 0))"
_BEGINNING: Final = """
    CREATE SCHEMA IF NOT EXISTS glasswarden;
    CREATE TABLE IF NOT EXISTS glasswarden.migration (
        number  int4 PRIMARY KEY,
        applied timestamptz NOT NULL DEFAULT now(),
        program text NOT NULL
    )
"""
_VERSION: Final = "SELECT coalesce(max(number), 0) FROM glasswarden.migration"
_AHEAD: Final = """
    SELECT glasswarden.make_month(now() + ahead * interval '1 month')
    FROM generate_series(0, %s) AS ahead
"""


def migrate(address: str) -> list[str]:
    """Do what is missing in the database at *address*, all or nothing; return what was done."""
    session = Session(parameters_of(address))
    try:
        return session.run(_migrate, "migrated")
    finally:
        session.close()


def _migrate(connection: Connection) -> list[str]:
    connection.patience = None
    with connection.transaction():
        # An index on a large table takes its time, and so does whoever migrates beside us.
        connection.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        connection.execute(_LOCK)
        if _has_tables(connection):
            _known(_version(connection))
        else:
            connection.execute(_BEGINNING)
        applied = [
            _apply(connection, step.number, step.summary, step.sql.encode())
            for step in MIGRATIONS
            if step.number > _version(connection)
        ]
        made = connection.execute(_AHEAD, [MONTHS_AHEAD]).fetchall()
    return applied + [f"made the partition {name}" for (name,) in made if name]


def _has_tables(connection: Connection) -> bool:
    [found] = connection.execute("SELECT to_regclass('glasswarden.migration')").fetchone() or [None]
    return found is not None


def _version(connection: Connection) -> int:
    [version] = connection.execute(_VERSION).fetchone() or [0]
    return int(version)


def _apply(connection: Connection, number: int, summary: str, sql: Query) -> str:
    connection.execute(sql)
    connection.execute(
        "INSERT INTO glasswarden.migration (number, program) VALUES (%s, %s)",
        [number, f"glasswarden {__version__}"],
    )
    return f"applied {number}: {summary}"


def check_version(connection: Connection) -> None:
    """Raise `MigrationNeeded` where the tables are not those of this program."""
    try:
        version = _version(connection)
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise MigrationNeeded(
            "the database holds no ledger yet; run: glasswarden ledger migrate"
        ) from error
    _known(version)
    if version < VERSION:
        raise MigrationNeeded(
            f"the ledger has tables of version {version}, this program of {VERSION};"
            " run: glasswarden ledger migrate"
        )


def dictionary_of(connection: Connection) -> bytes:
    """Return what the bodies in this database are deflated with."""
    [words] = connection.execute("SELECT words FROM glasswarden.dictionary").fetchone() or [b""]
    return bytes(words)


def _known(version: int) -> None:
    if version > VERSION:
        raise LaterTables(
            f"the ledger has tables of version {version}, which this program, of {VERSION},"
            " does not know; run a later glasswarden"
        )
