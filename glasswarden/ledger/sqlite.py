"""The embedded ledger: SQLite, in write-ahead mode, synced at every commit."""

import json
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from glasswarden.ledger.errors import LedgerConflict, LedgerUnavailable, MigrationNeeded
from glasswarden.ledger.ledger import LegalHold, Row
from glasswarden.ledger.question import (
    Indexed,
    Question,
    fields_of,
    indexed,
    searchable,
    starts_below,
)
from glasswarden.ledger.record import Head, Opened, Record, read_record

SCHEMA_VERSION: Final = 1

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS record (
    id            BLOB PRIMARY KEY,
    time          INTEGER NOT NULL,  -- microseconds since 1970
    cluster       TEXT NOT NULL,
    writer        TEXT NOT NULL,
    sequence      INTEGER NOT NULL,
    type          TEXT NOT NULL,
    verdict       TEXT NOT NULL,
    actor         TEXT NOT NULL,
    "group"       TEXT NOT NULL,
    kind          TEXT NOT NULL,
    namespace     TEXT NOT NULL,
    name          TEXT NOT NULL,
    engine        TEXT NOT NULL,
    app           TEXT NOT NULL,
    app_namespace TEXT NOT NULL,
    ticket        TEXT NOT NULL,
    "grant"       TEXT NOT NULL,
    grant_act     TEXT NOT NULL,
    grant_expires INTEGER,
    body          BLOB NOT NULL,
    digest        BLOB NOT NULL,
    signature     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS record_place ON record (writer, sequence);
CREATE INDEX IF NOT EXISTS record_object ON record (namespace, name, kind) WHERE type = 'attempt';
CREATE INDEX IF NOT EXISTS record_actor ON record (actor) WHERE actor <> '';
CREATE INDEX IF NOT EXISTS record_app ON record (app) WHERE app <> '';
CREATE INDEX IF NOT EXISTS record_ticket ON record (ticket) WHERE ticket <> '';
CREATE INDEX IF NOT EXISTS record_grant ON record ("grant") WHERE "grant" <> '';
CREATE INDEX IF NOT EXISTS record_denied ON record (id) WHERE verdict = 'deny';
CREATE INDEX IF NOT EXISTS record_signed ON record (id) WHERE signature <> '';
CREATE TABLE IF NOT EXISTS field (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    path      TEXT NOT NULL,
    id        BLOB NOT NULL,
    PRIMARY KEY (namespace, name, path, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS field_id ON field (id);
CREATE TABLE IF NOT EXISTS chain (
    writer    TEXT PRIMARY KEY,
    sequence  INTEGER NOT NULL,
    digest    BLOB NOT NULL,
    witnessed INTEGER NOT NULL DEFAULT 0  -- the last sequence that an `opened` record named
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS legal_hold (
    ticket TEXT PRIMARY KEY,
    since  INTEGER NOT NULL,
    by     TEXT NOT NULL,
    why    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

BUSY_SECONDS: Final = 5.0
"""How long one process waits for another's commit before it gives up."""

_COLUMNS: Final = ", ".join(f'"{name}"' for name in Indexed._fields)
_INSERT: Final = (
    f"INSERT INTO record ({_COLUMNS}, body, digest, signature) "  # noqa: S608 - names of columns
    f"VALUES ({', '.join('?' * (len(Indexed._fields) + 3))})"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class SqliteLedger:
    """Records in one file. Several processes may append to it, each through its own instance."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none. When this returns they are on the disk."""
        with self._transaction():
            self._store(records)

    def _store(self, records: Sequence[Record]) -> None:
        try:
            self._insert(records)
        except sqlite3.IntegrityError:
            unique = {record.digest: record for record in records}.values()
            self._insert([record for record in unique if not self._has(record)])

    def _insert(self, records: Sequence[Record]) -> None:
        execute = self._connection.executemany
        execute(_INSERT, [_row(record) for record in records])
        execute("INSERT INTO field VALUES (?, ?, ?, ?)", _field_rows(records))
        execute(
            "INSERT INTO chain (writer, sequence, digest) VALUES (?, ?, ?) ON CONFLICT (writer)"
            " DO UPDATE SET sequence = excluded.sequence, digest = excluded.digest"
            " WHERE excluded.sequence > chain.sequence",
            [(head.writer, head.sequence, bytes.fromhex(head.digest)) for head in _ends(records)],
        )
        execute(
            "INSERT INTO chain (writer, sequence, digest, witnessed) VALUES (?, 0, x'', ?)"
            " ON CONFLICT (writer) DO UPDATE SET witnessed = max(witnessed, excluded.witnessed)",
            [(head.writer, head.sequence) for head in _witnessed_by(records)],
        )

    def _has(self, record: Record) -> bool:
        """Tell whether *record* is there; raise `LedgerConflict` where another is in its place."""
        entry = record.entry
        found = self._connection.execute(
            "SELECT digest FROM record WHERE writer = ? AND sequence = ? OR id = ?",
            (entry.writer, entry.sequence, _bytes(entry.id)),
        ).fetchall()
        if any(digest.hex() != record.digest for (digest,) in found):
            raise LedgerConflict(
                f"another record stands at {entry.sequence} in the chain of {entry.writer},"
                f" or has the id {entry.id}"
            )
        return bool(found)

    def ask(self, question: Question) -> list[Record]:
        """Return the records that *question* wants, newest first, no more than its limit."""
        tests, values = _tests(question)
        statement = (
            f"SELECT body, digest, signature FROM record WHERE {' AND '.join(tests)}"  # noqa: S608
            " ORDER BY id DESC LIMIT ?"
        )
        found = self._query(statement, *values, question.limit)
        return [read_record(body, digest.hex(), signature) for body, digest, signature in found]

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:
        """Return the last issue or extension of each grant that is open at *now*, newest first."""
        statement = """
            SELECT body, digest, signature FROM record AS issued
            WHERE "grant" <> '' AND cluster = ? AND grant_act IN ('issued', 'extended')
              AND grant_expires > ?
              AND NOT EXISTS (
                SELECT 1 FROM record AS later
                WHERE later."grant" = issued."grant" AND later."grant" <> ''
                  AND later.cluster = issued.cluster
                  AND (later.grant_act = 'closed'
                       OR later.grant_act = 'extended' AND later.id > issued.id)
              )
            ORDER BY id DESC
        """
        found = self._query(statement, cluster, _microseconds(now))
        return [read_record(body, digest.hex(), signature) for body, digest, signature in found]

    def heads(self) -> list[Head]:
        """Return the end of every chain."""
        found = self._query(
            "SELECT writer, sequence, digest FROM chain WHERE sequence > 0 ORDER BY writer"
        )
        return [Head(writer, sequence, digest.hex()) for writer, sequence, digest in found]

    def unwitnessed(self) -> list[Head]:
        """Return the ends of chains that moved since an `Opened` last named them."""
        found = self._query(
            "SELECT writer, sequence, digest FROM chain WHERE sequence > witnessed ORDER BY writer"
        )
        return [Head(writer, sequence, digest.hex()) for writer, sequence, digest in found]

    def writers(self) -> list[str]:
        """Return whose records there are, sorted."""
        # From one writer to the next on the index: DISTINCT would walk all of it.
        statement = """
            WITH RECURSIVE found (writer) AS (
                SELECT min(writer) FROM record
                UNION ALL
                SELECT (SELECT min(writer) FROM record WHERE writer > found.writer) FROM found
                WHERE found.writer IS NOT NULL
            )
            SELECT writer FROM found WHERE writer IS NOT NULL
        """
        return [writer for (writer,) in self._query(statement)]

    def signed(self) -> Iterator[Row]:
        """Yield the rows that carry a signature by id, oldest first."""
        yield from self._rows("WHERE signature <> '' ORDER BY id")

    def rows(self, writer: str, after: int = 0) -> Iterator[Row]:
        """Yield the rows of one chain in order of sequence, from behind *after*."""
        yield from self._rows("WHERE writer = ? AND sequence > ? ORDER BY sequence", writer, after)

    def oldest_first(self, since: datetime | None = None) -> Iterator[Row]:
        """Yield all rows by id, oldest first."""
        start = since or _EPOCH
        yield from self._rows(
            "WHERE id >= ? AND time >= ? ORDER BY id", _first_id(start), _microseconds(start)
        )

    def _rows(self, rest: str, *values: object) -> Iterator[Row]:
        statement = f"""
            SELECT {_COLUMNS}, body, digest, signature,
                (SELECT json_group_array(path) FROM field WHERE field.id = record.id
                 AND field.namespace = record.namespace AND field.name = record.name)
            FROM record {rest}
        """  # noqa: S608 - our own words
        for *columns, body, digest, signature, paths in self._query(statement, *values):
            yield Row(
                _indexed(columns), body, digest.hex(), signature, tuple(sorted(json.loads(paths)))
            )

    def remove(self, writer: str, through: int, keep: Sequence[int], stone: Record) -> None:
        """Take away the chain's places up to *through* but those in *keep*, and store *stone*."""
        gone = "writer = ? AND sequence <= ? AND sequence NOT IN (SELECT value FROM json_each(?))"
        values = (writer, through, json.dumps(keep))
        with self._transaction():
            self._connection.execute(
                f"DELETE FROM field WHERE id IN (SELECT id FROM record WHERE {gone})",  # noqa: S608
                values,
            )
            self._connection.execute(f"DELETE FROM record WHERE {gone}", values)  # noqa: S608
            self._store([stone])

    def holds(self) -> list[LegalHold]:
        """Return the legal holds in force, oldest first."""
        found = self._query("SELECT ticket, since, by, why FROM legal_hold ORDER BY since, ticket")
        return [LegalHold(ticket, _moment(since), by, why) for ticket, since, by, why in found]

    def hold(self, hold: LegalHold) -> None:
        """Put a legal hold on a ticket; one that is there stays as it is."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO legal_hold VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (hold.ticket, _microseconds(hold.since), hold.by, hold.why),
            )

    def release(self, ticket: str) -> bool:
        """Lift the hold on *ticket*; tell whether there was one."""
        with self._transaction():
            cursor = self._connection.execute("DELETE FROM legal_hold WHERE ticket = ?", (ticket,))
        return cursor.rowcount > 0

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit what is done inside, or nothing of it."""
        try:
            # IMMEDIATE: whoever reads first and writes later fails where another wrote between.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()
        except sqlite3.Error as error:
            raise LedgerUnavailable(f"the ledger could not be written: {error}") from error

    def _query(self, statement: str, *values: object) -> Iterator[Any]:
        try:
            yield from self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise LedgerUnavailable(f"the ledger could not be read: {error}") from error


def _tests(question: Question) -> tuple[list[str], list[object]]:
    """Return the conditions of *question*, and the values for their marks."""
    tests, values = ["type = 'attempt'"], list[object]()
    for name, value in question.columns.items():
        tests.append(f'"{name}" = ?')
        values.append(value)
        if value and name in _PARTIAL:  # names the partial index to SQLite
            tests.append(f"\"{name}\" <> ''")
    if question.since is not None:
        tests.append("id >= ? AND time >= ?")
        values += [_first_id(question.since), _microseconds(question.since)]
    if question.until is not None:
        tests.append("id < ? AND time < ?")
        values += [_first_id(question.until + _MILLISECOND), _microseconds(question.until)]
    if question.before is not None:
        tests.append("id < ?")
        values.append(uuid.UUID(question.before).bytes)
    if question.field is not None:
        path = searchable(question.field)
        begins = starts_below(path)
        ranges = " OR ".join(["path = ?", *["path >= ? AND path < ?"] * len(begins)])
        tests.append(
            f"EXISTS (SELECT 1 FROM field WHERE field.id = record.id AND ({ranges}))"  # noqa: S608
        )
        values += [path, *(edge for begin in begins for edge in (begin, _after(begin)))]
    return tests, values


_PARTIAL: Final = frozenset({"actor", "app", "ticket", "grant"})


def _after(begin: str) -> str:
    """Return the least text that is greater than all that begin so."""
    return f"{begin[:-1]}{chr(ord(begin[-1]) + 1)}"


def _row(record: Record) -> tuple[object, ...]:
    columns = indexed(record.entry)
    stored = columns._replace(
        id=_bytes(columns.id),  # type: ignore[arg-type]  # as SQLite keeps it
        time=_microseconds(columns.time),  # type: ignore[arg-type]
        grant_expires=columns.grant_expires and _microseconds(columns.grant_expires),  # type: ignore[arg-type]
    )
    return (*stored, record.body, bytes.fromhex(record.digest), record.signature)


def _indexed(columns: Sequence[Any]) -> Indexed:
    found = Indexed(*columns)
    expires: Any = found.grant_expires
    return found._replace(
        id=str(uuid.UUID(bytes=columns[0])),
        time=_moment(columns[1]),
        grant_expires=None if expires is None else _moment(expires),
    )


def _field_rows(records: Sequence[Record]) -> list[tuple[object, ...]]:
    return [
        (columns.namespace, columns.name, path, _bytes(columns.id))
        for record in records
        if (paths := fields_of(record.entry))
        for columns in (indexed(record.entry),)
        for path in paths
    ]


def _ends(records: Sequence[Record]) -> list[Head]:
    """Return where each chain ends that *records* continue."""
    ends = {
        record.entry.writer: record
        for record in sorted(records, key=lambda each: each.entry.sequence)
    }
    return [Head(writer, end.entry.sequence, end.digest) for writer, end in ends.items()]


def _witnessed_by(records: Sequence[Record]) -> list[Head]:
    return [
        head
        for record in records
        if isinstance(record.entry, Opened)
        for head in record.entry.heads
    ]


def _bytes(record_id: str) -> bytes:
    return uuid.UUID(record_id).bytes


def _first_id(moment: datetime) -> bytes:
    """Return the least id that a record of *moment* can have: ids begin with milliseconds."""
    return (_microseconds(moment) // 1000).to_bytes(6, "big").ljust(16, b"\0")


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def open_sqlite(path: Path) -> SqliteLedger:
    """Open the ledger at *path*, and make it where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise _unopened(path, error) from error
    try:
        _prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise _unopened(path, error) from error
    except MigrationNeeded:
        connection.close()
        raise
    return SqliteLedger(connection)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    # Rows of a kilobyte or two; on smaller pages SQLite would put their ends elsewhere.
    connection.execute("PRAGMA page_size = 8192")
    connection.execute("PRAGMA journal_mode = WAL")
    # FULL: the log is synced at each commit, so a record outlives a power cut.
    connection.execute("PRAGMA synchronous = FULL")
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        connection.executescript(
            f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
        )
    elif version != SCHEMA_VERSION:
        raise MigrationNeeded(
            f"the ledger {path} has tables of version {version}, this program of {SCHEMA_VERSION}"
        )


def _unopened(path: Path, error: Exception) -> LedgerUnavailable:
    return LedgerUnavailable(f"the ledger {path} cannot be opened: {error}")
