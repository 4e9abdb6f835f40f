"""The embedded ledger: SQLite, in write-ahead mode, synced at every commit."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.record import Record, decode, encode

_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (
    id       TEXT PRIMARY KEY,
    writer   TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    body     BLOB NOT NULL,
    UNIQUE (writer, sequence)
) STRICT, WITHOUT ROWID
"""

BUSY_SECONDS = 5.0
"""How long one process waits for another's commit before it gives up."""


class SqliteLedger:
    """Records in one file. Several processes may append to it, each through its own instance."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none. When this returns they are on the disk."""
        rows = [(record.id, record.writer, record.sequence, encode(record)) for record in records]
        try:
            with self._connection:
                self._connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise LedgerUnavailable(f"records could not be stored: {error}") from error

    def records(self) -> Iterator[Record]:
        """Return all records, oldest first."""
        for (body,) in self._connection.execute("SELECT body FROM record ORDER BY id"):
            yield decode(body)

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()


def open_sqlite(path: Path) -> SqliteLedger:
    """Open the ledger at *path*, and make it where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
    except (OSError, sqlite3.Error) as error:
        raise _unopened(path, error) from error
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # FULL: the log is synced at each commit, so a record outlives a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(_SCHEMA)
    except sqlite3.Error as error:
        connection.close()
        raise _unopened(path, error) from error
    return SqliteLedger(connection)


def _unopened(path: Path, error: Exception) -> LedgerUnavailable:
    return LedgerUnavailable(f"the ledger {path} cannot be opened: {error}")
