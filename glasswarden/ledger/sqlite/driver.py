"""The ledger protocol on SQLite."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from glasswarden.ledger.compression import Bodies
from glasswarden.ledger.errors import HoldAdded, LedgerConflict
from glasswarden.ledger.ledger import LegalHold, Row
from glasswarden.ledger.query import Question, searchable_form
from glasswarden.ledger.record import Head, Opened, Record, read_record
from glasswarden.ledger.sqlite.session import Session
from glasswarden.ledger.sqlite.storage import (
    EPOCH,
    INSERT,
    SELECTED,
    bytes_of,
    cells_of,
    encode_text,
    first_id_of,
    is_text,
    microseconds_of,
    moment_of,
    row_of,
    statement_of,
)

ROWS_AT_ONCE: Final = 500
"""Rows per read: a single long read would keep the write-ahead log from shrinking."""

_FIRST: Final = -(2**63)
_LAST: Final = 2**63 - 1
"""The ends of what SQLite can count."""

_MOVE: Final = (
    "INSERT INTO chain (writer, sequence, digest, witnessed) VALUES (?, ?, ?, 0)"
    " ON CONFLICT (writer) DO UPDATE SET sequence = excluded.sequence, digest = excluded.digest"
    " WHERE excluded.sequence > chain.sequence"
)
_WITNESS: Final = (
    "INSERT INTO chain (writer, sequence, digest, witnessed) VALUES (?, 0, x'', ?)"
    " ON CONFLICT (writer) DO UPDATE SET witnessed = max(witnessed, excluded.witnessed)"
)
# From one writer to the next on the index: DISTINCT would walk all of it.
_WRITERS: Final = """
    WITH RECURSIVE found (writer) AS (
        SELECT min(writer) FROM record
        UNION ALL
        SELECT (SELECT min(writer) FROM record WHERE writer > found.writer) FROM found
        WHERE found.writer IS NOT NULL
    )
    SELECT writer FROM found WHERE writer IS NOT NULL
"""
# What is no attempt has no actor.
_GAPS: Final = """
    SELECT body, digest, signature FROM record INDEXED BY record_actor
    WHERE actor = '' AND type = 'gap' AND cluster = ? ORDER BY id DESC
"""
_OPEN_GRANTS: Final = """
    SELECT body, digest, signature FROM record AS issued INDEXED BY record_grant_expires
    WHERE grant_expires > ? AND cluster = ? AND grant_act IN ('issued', 'approved', 'extended')
      AND NOT EXISTS (
        SELECT 1 FROM record AS other INDEXED BY record_grant
        WHERE other."grant" = issued."grant" AND other."grant" <> ''
          AND other.cluster = issued.cluster
          AND (other.grant_act = 'closed'
               OR other.grant_act IN ('approved', 'extended') AND other.id > issued.id)
      )
      AND NOT EXISTS (
        SELECT 1 FROM record AS newer INDEXED BY record_object
        WHERE newer.name = issued.name AND newer.namespace = issued.namespace
          AND newer.id > issued.id AND newer.grant_act IN ('issued', 'approved', 'closed')
          AND newer.kind = issued.kind AND newer."group" = issued."group"
          AND newer.cluster = issued.cluster
      )
    ORDER BY id DESC
"""


class SqliteLedger:
    """Records in one file. Several processes may append to it, each through its own instance."""

    def __init__(self, session: Session, bodies: Bodies) -> None:
        self._session = session
        self._connection = session.connection
        self.path = session.path
        self._bodies = bodies

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none; when this returns they are on the disk."""
        rows = [cells_of(record, self._bodies) for record in records]  # before it is our turn
        with self._session.transaction():
            self._store(records, rows)

    def ask(self, question: Question) -> list[Record]:
        """Return the records that *question* wants, newest first, no more than its limit."""
        statement = statement_of(question)
        return self._records(statement.text, *statement.values)

    def find_rows(self, question: Question) -> list[Row]:
        """Return the rows of what `ask` returns; an unreadable one does not hide the others."""
        statement = statement_of(question, SELECTED)
        return [*self._rows(self._session.query(statement.text, *statement.values))]

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:
        """Return the last issue or extension of each grant that is open at *now*, newest first."""
        return self._records(_OPEN_GRANTS, microseconds_of(now), searchable_form(cluster))

    def gaps(self, cluster: str) -> list[Record]:
        """Return the gaps: records of writes to *cluster* that went unrecorded, newest first."""
        return self._records(_GAPS, searchable_form(cluster))

    def heads(self) -> list[Head]:
        """Return the end of every chain."""
        return self._heads("sequence > 0")

    def unwitnessed_heads(self) -> list[Head]:
        """Return the ends of chains that moved since an `Opened` last named them.

        Without those whose names are not text: they cannot be recorded. fsck finds such a name.
        """
        return [head for head in self._heads("sequence > witnessed") if is_text(head.writer)]

    def witnessed_places(self) -> dict[str, int]:
        """Return how far each chain was named by an `Opened`, as the list of chains says."""
        return dict(self._session.query("SELECT writer, witnessed FROM chain WHERE witnessed > 0"))

    def unwitness(self, writer: str, through: int) -> None:
        """Mark the chain as witnessed up to *through* only: what named it further was removed."""
        with self._session.transaction():
            self._connection.execute(
                "UPDATE chain SET witnessed = min(witnessed, ?) WHERE writer = CAST(? AS TEXT)",
                (through, encode_text(writer)),
            )

    def writers(self) -> list[str]:
        """Return the writers of all records, sorted."""
        return [writer for (writer,) in self._session.query(_WRITERS)]

    def signed_rows(self) -> Iterator[Row]:
        """Yield the rows that carry a signature by id, oldest first."""
        last = b""
        while page := self._page("id > ? AND signature <> ''", "id", last):
            for row in self._rows(page):
                yield row
            last = bytes_of(row.columns.id)

    def rows(
        self, writer: str, after: int | None = None, through: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of one chain by sequence, after *after*, up to *through*."""
        place = "writer = CAST(? AS TEXT) AND sequence <= ? AND"
        name, end = encode_text(writer), _LAST if through is None else through
        test = "sequence >= ?"
        last: tuple[object, ...] = (_FIRST if after is None else after + 1,)
        while page := self._page(f"{place} {test}", "sequence, id", name, end, *last):
            for row in self._rows(page):
                yield row
            # With the id: where a second record was forged in one place, both are returned.
            test = "(sequence, id) > (?, ?)"
            last = (row.columns.sequence, bytes_of(row.columns.id))

    def find(self, record_id: str) -> Row | None:
        """Return the row with this id."""
        return next(self._rows(self._page("id = ?", "id", bytes_of(record_id))), None)

    def rows_since(self, since: datetime | None = None) -> Iterator[Row]:
        """Yield all rows by id, oldest first, a few at a time."""
        start = since or EPOCH
        test, last = "id >= ?", first_id_of(start)
        while page := self._page(f"{test} AND time >= ?", "id", last, microseconds_of(start)):
            for row in self._rows(page):
                yield row
            test, last = "id > ?", bytes_of(row.columns.id)

    def remove(
        self,
        writer: str,
        through: int,
        keep: Sequence[int],
        stone: Record,
        *,
        held: Collection[str] = (),
    ) -> None:
        """Remove a chain's places up to *through* except those in *keep*; store *stone*; atomic."""
        with self._session.transaction():
            if unknown := {hold.ticket for hold in self.holds()}.difference(held):
                raise HoldAdded(f"a legal hold was added meanwhile: {', '.join(sorted(unknown))}")
            self._connection.execute(
                "DELETE FROM record WHERE writer = ? AND sequence <= ?"
                " AND sequence NOT IN (SELECT value FROM json_each(?))",
                (writer, through, json.dumps(list(keep))),
            )
            self._store([stone], [cells_of(stone, self._bodies)])

    def holds(self) -> list[LegalHold]:
        """Return the legal holds in force, oldest first."""
        found = self._session.query(
            "SELECT ticket, since, by, why FROM legal_hold ORDER BY since, ticket"
        )
        return [LegalHold(ticket, moment_of(since), by, why) for ticket, since, by, why in found]

    def hold(self, hold: LegalHold) -> None:
        """Place a legal hold on a ticket; an existing one stays as it is."""
        with self._session.transaction():
            self._connection.execute(
                "INSERT INTO legal_hold VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (hold.ticket, microseconds_of(hold.since), hold.by, hold.why),
            )

    def release(self, ticket: str) -> bool:
        """Release the hold on *ticket*; return whether there was one."""
        with self._session.transaction():
            cursor = self._connection.execute("DELETE FROM legal_hold WHERE ticket = ?", (ticket,))
        return cursor.rowcount > 0

    def close(self) -> None:
        """Close the file."""
        self._session.close()

    def _store(self, records: Sequence[Record], rows: Sequence[tuple[object, ...]]) -> None:
        try:
            self._connection.executemany(INSERT, rows)
        except sqlite3.IntegrityError:
            for record, row in zip(records, rows, strict=True):
                if not self._has(record):
                    self._connection.execute(INSERT, row)
        self._connection.executemany(_MOVE, _ends_of(records))
        if witnessed := _heads_in(records):
            self._connection.executemany(_WITNESS, witnessed)

    def _has(self, record: Record) -> bool:
        """Return whether *record* is stored; raise `LedgerConflict` if another is in its place."""
        entry = record.entry
        found = self._connection.execute(
            "SELECT digest FROM record WHERE writer = ? AND sequence = ?"
            " UNION ALL SELECT digest FROM record WHERE id = ?",
            (entry.writer, entry.sequence, bytes_of(entry.id)),
        ).fetchall()
        if any(digest.hex() != record.digest for (digest,) in found):
            raise LedgerConflict(
                f"another record is at {entry.sequence} in the chain of {entry.writer},"
                f" or has the id {entry.id}"
            )
        return bool(found)

    def _records(self, statement: str, *values: object) -> list[Record]:
        unpack = self._bodies.unpack
        return [
            read_record(unpack(body), digest.hex(), signature)
            for body, digest, signature in self._session.query(statement, *values)
        ]

    def _heads(self, test: str) -> list[Head]:
        found = self._session.query(
            f"SELECT writer, sequence, digest FROM chain WHERE {test} ORDER BY writer"  # noqa: S608
        )
        return [Head(writer, sequence, digest.hex()) for writer, sequence, digest in found]

    def _page(self, test: str, order: str, *values: object) -> list[Any]:
        statement = f"SELECT {SELECTED} FROM record WHERE {test} ORDER BY {order} LIMIT ?"  # noqa: S608
        return self._session.query(statement, *values, ROWS_AT_ONCE)

    def _rows(self, page: list[Any]) -> Iterator[Row]:
        # One by one: a body that was just unpacked is read faster than one of hundreds that wait.
        return (row_of(found, self._bodies) for found in page)


def _ends_of(records: Sequence[Record]) -> list[tuple[str, int, bytes]]:
    """Return how far each chain goes that *records* continue."""
    ends: dict[str, Record] = {}
    for record in records:
        end = ends.get(record.entry.writer)
        if end is None or end.entry.sequence < record.entry.sequence:
            ends[record.entry.writer] = record
    return [(writer, end.entry.sequence, bytes.fromhex(end.digest)) for writer, end in ends.items()]


def _heads_in(records: Sequence[Record]) -> list[tuple[str, int]]:
    return [
        (head.writer, head.sequence)
        for record in records
        if isinstance(record.entry, Opened)
        for head in record.entry.heads
    ]
