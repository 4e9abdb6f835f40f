"""Opening a ledger's file, and making it."""

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from glasswarden.ledger.bodies import Bodies
from glasswarden.ledger.errors import LaterTables, LedgerMissing, LedgerUnavailable, MigrationNeeded
from glasswarden.ledger.sqlite import schema
from glasswarden.ledger.sqlite.driver import SqliteLedger
from glasswarden.ledger.sqlite.failures import failure_of
from glasswarden.ledger.sqlite.session import Session
from glasswarden.ledger.sqlite.turns import Turns, TurnTimeout

PATIENCE: Final = 5.0
"""Seconds that a process waits for another's commit before it gives up."""

CHECKPOINT_PAGES: Final = 256
"""Pages in the write-ahead log after which a commit also carries them over into the file.

A quarter of SQLite's own choice: it is done four times as often, and each time holds an answer up
for a quarter as long; altogether it costs the same.
"""

BULK_CHECKPOINT_PAGES: Final = 4096
"""The same for who stores thousands at once, each of whose commits would carry everything over."""

BULK_CACHE_BYTES: Final = 16 * 2**20
"""What such a commit touches; with SQLite's own 2 MB it is written twice, and read in between."""


def open_sqlite(
    path: Path, *, create: bool = True, patience: float = PATIENCE, in_bulk: bool = False
) -> SqliteLedger:
    """Open the ledger at *path*; where there is none, make it, or raise `LedgerMissing`.

    *in_bulk* is for who stores very many records, and holds nobody's answer up.
    """
    with ExitStack() as stack:
        session = open_session(path, create=create, patience=patience)
        stack.callback(session.close)
        if in_bulk:
            widen(session.connection)
        ledger = SqliteLedger(session, Bodies(schema.dictionary_of(session)))
        stack.pop_all()
        return ledger


def migrate_sqlite(path: Path) -> list[str]:
    """Make the file, or the tables that it lacks; return what was done, in sentences."""
    try:
        open_session(path, create=False).close()
    except LedgerMissing:
        done = f"made {path}"
    except MigrationNeeded:
        done = f"brought {path} to version {schema.VERSION}"
    else:
        return []
    open_session(path).close()
    return [done]


def open_session(path: Path, *, create: bool = True, patience: float = PATIENCE) -> Session:
    """Return what reads and writes the ledger's file at *path*, made or migrated if *create*."""
    try:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.exists():
            raise LedgerMissing(f"there is no ledger at {path}")
        return _opened(path, create, patience)
    except (OSError, TurnTimeout) as error:
        raise LedgerUnavailable(f"the ledger {path} cannot be opened: {error}") from error
    except sqlite3.Error as error:
        raise failure_of(path, "opened", error) from error


def _opened(path: Path, create: bool, patience: float) -> Session:  # noqa: FBT001
    with ExitStack() as stack:
        turns = stack.enter_context(closing(Turns(path, patience)))
        connection = stack.enter_context(
            closing(sqlite3.connect(_uri(path, create=create), uri=True, isolation_level=None))
        )
        _prepare(connection, patience)
        if create and (schema.is_blank(connection) or schema.is_older(connection)):
            with turns.taken():
                connection.execute("PRAGMA journal_mode = WAL")
                schema.migrate(connection)
        _check(connection, path)
        stack.pop_all()
        return Session(connection, path, turns)


def _uri(path: Path, *, create: bool) -> str:
    """Return how SQLite is to open *path*."""
    beside = [path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm")]
    if not create and not os.access(path.parent, os.W_OK) and not any(map(Path.exists, beside)):
        # A whole copy on a read-only volume: there is no log to read, and none can be made.
        return f"file:{quote(str(path))}?immutable=1"
    return f"file:{quote(str(path))}?mode={'rwc' if create else 'rw'}"


def _prepare(connection: sqlite3.Connection, patience: float) -> None:
    # Ours wait in `turns`; this is for other programs that write to the file.
    connection.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
    # FULL: the log is synced at each commit, so a record outlives a power cut.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")


def widen(connection: sqlite3.Connection) -> None:
    """Have *connection* take very many records at once; each commit is synced all the same."""
    connection.execute(f"PRAGMA wal_autocheckpoint = {BULK_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA cache_size = -{BULK_CACHE_BYTES // 1024}")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise unless the file is a ledger that this version can work with."""
    application, version = schema.mark_of(connection)
    if application != schema.APPLICATION:
        raise LedgerMissing(f"{path} is no ledger")
    if version > schema.VERSION:
        raise LaterTables(
            f"the ledger {path} has tables of version {version}, which this program, of"
            f" {schema.VERSION}, does not know; run a later glasswarden"
        )
    if version != schema.VERSION:
        raise MigrationNeeded(
            f"the ledger {path} has tables of version {version}, this program of {schema.VERSION};"
            " run: glasswarden ledger migrate"
        )
