"""The ledger protocol on PostgreSQL."""

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeAlias

from psycopg import errors

from glasswarden.ledger.compression import Bodies
from glasswarden.ledger.errors import HoldAdded
from glasswarden.ledger.ledger import LegalHold, Row
from glasswarden.ledger.postgres import appending, storage
from glasswarden.ledger.postgres.appending import drop_empty, make_months
from glasswarden.ledger.postgres.schema import check_version, dictionary_of
from glasswarden.ledger.postgres.session import Connection, Session, parameters_of
from glasswarden.ledger.postgres.storage import (
    BY_WRITER,
    GAPS,
    OPEN_GRANTS,
    SELECTED,
    first_id_of,
    row_of,
    statement_of,
)
from glasswarden.ledger.query import Question, searchable_form
from glasswarden.ledger.record import Head, Record, read_record

PAGE: Final = 500
"""Rows that are read at a time; between pages nothing is held open."""

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

_FIRST: Final = -(2**63)
_LAST: Final = 2**63 - 1
"""The ends of what an int8 can count."""

_ATTEMPTS: Final = 3
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# With ties: where a second record was forged in one place, both are returned.
_CHAIN: Final = f"""
    SELECT {SELECTED} FROM glasswarden.record WHERE {BY_WRITER}
    AND sequence >= %(first)s AND sequence <= %(through)s
    ORDER BY sequence FETCH FIRST {PAGE} ROWS WITH TIES
"""  # noqa: S608 - names of columns
_FIND: Final = f"SELECT {SELECTED} FROM glasswarden.record WHERE id = %s"  # noqa: S608
_FROM: Final = f"""
    SELECT {SELECTED} FROM glasswarden.record WHERE id >= %s AND time >= %s ORDER BY id LIMIT {PAGE}
"""  # noqa: S608
_AFTER: Final = _FROM.replace("id >=", "id >")
_SIGNED: Final = f"""
    SELECT {SELECTED} FROM glasswarden.record WHERE id > %s AND signature <> ''
    ORDER BY id LIMIT {PAGE}
"""  # noqa: S608
# From one writer to the next on the indexes: DISTINCT would walk all of them.
_WRITERS: Final = """
    WITH RECURSIVE found (writer) AS (
        SELECT min(writer) FROM glasswarden.record
        UNION ALL
        SELECT (SELECT min(writer) FROM glasswarden.record WHERE writer > found.writer) FROM found
        WHERE found.writer IS NOT NULL
    )
    SELECT writer FROM found WHERE writer IS NOT NULL
"""
_CUT: Final = f"""
    WITH cut AS (
        DELETE FROM glasswarden.record
        WHERE {BY_WRITER} AND sequence <= %(through)s AND sequence <> ALL(%(keep)s::int8[])
        RETURNING tableoid
    )
    SELECT DISTINCT relname FROM cut JOIN pg_catalog.pg_class ON pg_class.oid = cut.tableoid
"""  # noqa: S608


class PostgresLedger:
    """Records in a database that many processes append to, each through its own instance."""

    def __init__(self, session: Session, bodies: Bodies) -> None:
        self._session = session
        self._bodies = bodies

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none. When this returns they are on the disk."""
        if records:
            self._session.run(partial(_append, records=records, bodies=self._bodies), "written")

    def ask(self, question: Question) -> list[Record]:
        """Return the records that *question* wants, newest first, no more than its limit."""
        return self._records(*statement_of(question))

    def find_rows(self, question: Question) -> list[Row]:
        """Return the rows of what `ask` returns; an unreadable one does not hide the others."""
        return self._rows(*statement_of(question, SELECTED))

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:
        """Return the last issue or extension of each grant that is open at *now*, newest first."""
        return self._records(OPEN_GRANTS, [searchable_form(cluster), now])

    def gaps(self, cluster: str) -> list[Record]:
        """Return the gaps: records of writes to *cluster* that went unrecorded, newest first."""
        return self._records(GAPS, [searchable_form(cluster)])

    def heads(self) -> list[Head]:
        """Return the end of every chain."""
        return self._heads("WHERE sequence > 0")

    def unwitnessed_heads(self) -> list[Head]:
        """Return the ends of chains that moved since an `Opened` last named them."""
        return self._heads("WHERE sequence > witnessed")

    def witnessed_places(self) -> dict[str, int]:
        """Return how far each chain was named by an `Opened`, as the list of chains says."""
        found = self._fetch("SELECT writer, witnessed FROM glasswarden.chain WHERE witnessed > 0")
        return dict(found)

    def unwitness(self, writer: str, through: int) -> None:
        """Mark the chain as witnessed up to *through* only: what named it further was removed."""
        self._session.run(
            lambda connection: connection.execute(
                "UPDATE glasswarden.chain SET witnessed = least(witnessed, %s) WHERE writer = %s",
                [through, writer],
            ),
            "written",
        )

    def writers(self) -> list[str]:
        """Return the writers of all records, sorted."""
        return [writer for (writer,) in self._fetch(_WRITERS)]

    def signed_rows(self) -> Iterator[Row]:
        """Yield the rows that carry a signature by id, oldest first, a page at a time."""
        last = str(uuid.UUID(int=0))
        while page := self._rows(_SIGNED, [last]):
            yield from page
            last = page[-1].columns.id

    def rows(
        self, writer: str, after: int | None = None, through: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of one chain by sequence, after *after*, up to *through*."""
        first = _FIRST if after is None else after + 1
        bounds = {"writer": writer, "through": _LAST if through is None else through}
        while page := self._rows(_CHAIN, bounds | {"first": first}):
            yield from page
            first = page[-1].columns.sequence + 1

    def find(self, record_id: str) -> Row | None:
        """Return the row with this id."""
        return next(iter(self._rows(_FIND, [record_id])), None)

    def rows_since(self, since: datetime | None = None) -> Iterator[Row]:
        """Yield all rows by id, oldest first, a page at a time."""
        start = since or _EPOCH
        page = self._rows(_FROM, [first_id_of(start), start])
        while page:
            yield from page
            page = self._rows(_AFTER, [page[-1].columns.id, start])

    def remove(
        self,
        writer: str,
        through: int,
        keep: Sequence[int],
        stone: Record,
        *,
        held: Collection[str] = (),
    ) -> None:
        """Remove a chain's places up to *through* except those in *keep*, and store *stone*."""
        cut = partial(
            _remove,
            gone={"writer": writer, "through": through, "keep": list(keep)},
            stone=stone,
            bodies=self._bodies,
            held=held,
        )
        emptied = self._session.run(cut, "pruned")
        self._session.run(partial(drop_empty, partitions=emptied, now=stone.entry.time), "pruned")

    def holds(self) -> list[LegalHold]:
        """Return the legal holds in force, oldest first."""
        found = self._fetch(
            "SELECT ticket, since, by, why FROM glasswarden.legal_hold ORDER BY since, ticket"
        )
        return [LegalHold(*each) for each in found]

    def hold(self, hold: LegalHold) -> None:
        """Place a legal hold on a ticket; an existing one stays as it is."""
        values = [hold.ticket, hold.since, hold.by, hold.why]
        self._session.run(
            lambda connection: connection.execute(
                "INSERT INTO glasswarden.legal_hold (ticket, since, by, why)"
                " VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                values,
            ),
            "written",
        )

    def release(self, ticket: str) -> bool:
        """Release the hold on *ticket*; return whether there was one."""
        cursor = self._session.run(
            lambda connection: connection.execute(
                "DELETE FROM glasswarden.legal_hold WHERE ticket = %s", [ticket]
            ),
            "written",
        )
        return cursor.rowcount > 0

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def _records(self, statement: str, values: Values) -> list[Record]:
        return [
            read_record(self._bodies.unpack(body), digest.hex(), signature)
            for body, digest, signature in self._fetch(statement, values)
        ]

    def _rows(self, statement: str, values: Values) -> list[Row]:
        return [row_of(found, self._bodies) for found in self._fetch(statement, values)]

    def _heads(self, which: str) -> list[Head]:
        found = self._fetch(
            f"SELECT writer, sequence, digest FROM glasswarden.chain {which} ORDER BY writer"  # noqa: S608
        )
        return [Head(writer, sequence, digest.hex()) for writer, sequence, digest in found]

    def _fetch(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        return self._session.run(partial(_query, statement=statement.encode(), values=values))


def _query(connection: Connection, statement: bytes, values: Values) -> list[tuple[Any, ...]]:
    # Not prepared: which index is best depends on the values, and a plan should see them.
    try:
        return connection.execute(statement, values, prepare=False, binary=True).fetchall()
    except errors.DataError as error:
        if error.sqlstate is not None:  # from the server, not from our own decoding
            raise
    with connection.cursor(binary=True) as cursor:
        storage.accept_any_moment(cursor)
        return cursor.execute(statement, values, prepare=False).fetchall()


def _append(connection: Connection, records: Sequence[Record], bodies: Bodies) -> None:
    for _ in range(_ATTEMPTS - 1):
        try:
            return appending.append(connection, records, bodies)
        except errors.CheckViolation:  # no partition for one of them
            make_months(connection, [record.entry.id for record in records])
        except (errors.DeadlockDetected, errors.SerializationFailure):
            continue
    return appending.append(connection, records, bodies)


def _remove(
    connection: Connection,
    gone: Mapping[str, Any],
    stone: Record,
    bodies: Bodies,
    held: Collection[str],
) -> list[str]:
    """Return the partitions that records were removed from."""
    make_months(connection, [stone.entry.id])
    connection.patience = None
    try:
        with connection.transaction():
            connection.execute("SET LOCAL statement_timeout = 0")
            emptied = connection.execute(_CUT, gone).fetchall()
            appending.merge(connection, [stone], bodies)
            _check_holds(connection, held)
    finally:
        connection.patience = type(connection).patience
    return [name for (name,) in emptied]


def _check_holds(connection: Connection, held: Collection[str]) -> None:
    """Raise `HoldAdded` if there are holds beyond *held*; until the commit none can be added."""
    # At the end of the transaction: placing a hold waits for the commit only, not for the removal.
    connection.execute("LOCK TABLE glasswarden.legal_hold IN SHARE MODE")
    found = connection.execute("SELECT ticket FROM glasswarden.legal_hold")
    if unknown := {ticket for (ticket,) in found}.difference(held):
        raise HoldAdded(f"a legal hold was added meanwhile: {', '.join(sorted(unknown))}")


def _open_bodies(connection: Connection) -> Bodies:
    check_version(connection)
    return Bodies(dictionary_of(connection))


def open_postgres(address: str) -> PostgresLedger:
    """Open the ledger at *address*; raise `MigrationNeeded` where its tables are not ours."""
    session = Session(parameters_of(address))
    try:
        bodies = session.run(_open_bodies, "opened")
    except BaseException:
        session.close()
        raise
    return PostgresLedger(session, bodies)
