"""Appending records to PostgreSQL, and the monthly partitions that hold them.

A place in a chain (writer and sequence) is taken once, in any partition. No index can guarantee
that across partitions; the chain's row does. A process that appends updates this row in the same
transaction, holds its lock until the commit, and only takes places behind the old end without a
lookup. Partitions are created when a record needs one and dropped when they are empty.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from psycopg import errors
from psycopg.sql import SQL, Identifier

from glasswarden.ledger.compression import Bodies
from glasswarden.ledger.errors import LedgerConflict
from glasswarden.ledger.postgres.schema import SCHEMA
from glasswarden.ledger.postgres.session import Connection
from glasswarden.ledger.postgres.storage import BY_WRITER, INSERT, batch_of
from glasswarden.ledger.record import Head, Opened, Record

# One statement is one round trip, one transaction and one commit.
_CONTINUE: Final = f"""
    WITH moved AS (
        INSERT INTO glasswarden.chain AS chain (writer, sequence, digest)
        VALUES (%(chain)s, %(last)s, %(last_digest)s)
        ON CONFLICT (writer) DO UPDATE
            SET sequence = excluded.sequence, digest = excluded.digest
            WHERE chain.sequence < %(first)s
        RETURNING writer
    )
    {INSERT} WHERE EXISTS (SELECT FROM moved)
"""  # noqa: S608 - our own words

_LOCK: Final = """
    INSERT INTO glasswarden.chain AS chain (writer, sequence, digest) VALUES (%s, 0, '')
    ON CONFLICT (writer) DO UPDATE SET writer = chain.writer
    RETURNING sequence
"""
_TAKEN: Final = f"""
    SELECT sequence, digest FROM glasswarden.record
    WHERE {BY_WRITER} AND sequence = ANY(%(places)s)
"""  # noqa: S608
_MOVE: Final = """
    UPDATE glasswarden.chain SET sequence = %(last)s, digest = %(last_digest)s
    WHERE writer = %(chain)s AND sequence < %(last)s
"""
_WITNESS: Final = """
    INSERT INTO glasswarden.chain AS chain (writer, sequence, digest, witnessed)
    VALUES (%s, 0, '', %s)
    ON CONFLICT (writer) DO UPDATE SET witnessed = greatest(chain.witnessed, excluded.witnessed)
"""


def append(connection: Connection, records: Sequence[Record], bodies: Bodies) -> None:
    """Store *records*, all or none; skip those that are there."""
    if not _continue(connection, records, bodies):
        with connection.transaction():
            merge(connection, records, bodies)


def merge(connection: Connection, records: Sequence[Record], bodies: Bodies) -> None:
    """Store, inside a transaction, what is missing of *records*, in whatever order they come."""
    chains = _group_by_chain(records)
    # In one order everywhere, so that two that append to the same chains do not block each other.
    for writer in sorted(chains):
        _merge(connection, writer, chains[writer], bodies)
    for head in _heads_in(records):
        connection.execute(_WITNESS, [head.writer, head.sequence])


def _continue(connection: Connection, records: Sequence[Record], bodies: Bodies) -> bool:
    """Store the next records of one chain; return False, without effect, if they are not."""
    entries = [record.entry for record in records]
    in_order = all(
        one.writer == other.writer and one.sequence < other.sequence
        for one, other in pairwise(entries)
    )
    if not in_order or any(isinstance(entry, Opened) for entry in entries):
        return False
    values = batch_of(records, bodies) | _end_of(records) | {"first": entries[0].sequence}
    try:
        return connection.execute(_CONTINUE, values, prepare=True).rowcount == len(records)
    except errors.UniqueViolation:
        return False  # `_merge` finds out which


def _merge(connection: Connection, writer: str, records: Sequence[Record], bodies: Bodies) -> None:
    [end] = connection.execute(_LOCK, [writer]).fetchone() or [0]
    wanted = _index_by_place(records)
    taken = _find_taken(connection, writer, [place for place in wanted if place <= end])
    for place in taken.keys() & wanted.keys():
        if taken[place] != wanted[place].digest:
            raise _new_conflict(wanted[place])
    missing = [record for place, record in sorted(wanted.items()) if place not in taken]
    if not missing:
        return
    try:
        connection.execute(INSERT, batch_of(missing, bodies))
    except errors.UniqueViolation as error:
        raise LedgerConflict(
            f"another record is in a place of {writer}: {error.diag.message_detail}"
        ) from error
    connection.execute(_MOVE, _end_of(missing))


def _index_by_place(records: Sequence[Record]) -> dict[int, Record]:
    places: dict[int, Record] = {}
    for record in records:
        if places.setdefault(record.entry.sequence, record).digest != record.digest:
            raise _new_conflict(record)
    return places


def _find_taken(connection: Connection, writer: str, places: list[int]) -> dict[int, str]:
    if not places:
        return {}
    found = connection.execute(_TAKEN, {"writer": writer, "places": places})
    return {sequence: digest.hex() for sequence, digest in found}


def _new_conflict(record: Record) -> LedgerConflict:
    entry = record.entry
    return LedgerConflict(f"another record is at {entry.sequence} in the chain of {entry.writer}")


def _group_by_chain(records: Sequence[Record]) -> Mapping[str, list[Record]]:
    chains = defaultdict[str, list[Record]](list)
    for record in records:
        chains[record.entry.writer].append(record)
    return chains


def _end_of(records: Sequence[Record]) -> dict[str, Any]:
    last = records[-1]
    return {
        "chain": last.entry.writer,
        "last": last.entry.sequence,
        "last_digest": bytes.fromhex(last.digest),
    }


def _heads_in(records: Sequence[Record]) -> list[Head]:
    heads = (
        head for each in records if isinstance(each.entry, Opened) for head in each.entry.heads
    )
    return sorted(heads, key=lambda head: head.writer)


# The month after it as well: its first record does not have to wait.
_MAKE: Final = """
    SELECT glasswarden.make_month(month + after * interval '1 month')
    FROM generate_series(0, 1) AS after, (
        SELECT DISTINCT date_trunc('month', glasswarden.moment_of(id)) AS month
        FROM unnest(%s::uuid[]) AS id
    ) AS months
    ORDER BY month
"""


def make_months(connection: Connection, ids: Sequence[str]) -> None:
    """Make the partitions for records with *ids* where there are none."""
    connection.execute(_MAKE, [list(ids)])


def drop_empty(connection: Connection, partitions: Iterable[str], now: datetime) -> None:
    """Drop those of *partitions* that are past and empty; one in use is dropped later."""
    this_month = f"record_{now:%Y_%m}"
    for name in sorted(partitions):
        if name < this_month and _is_empty(connection, name):
            try:
                _drop(connection, name)
            except (errors.LockNotAvailable, errors.InsufficientPrivilege):
                return


def _drop(connection: Connection, name: str) -> None:
    with connection.transaction():
        # The parent first, as appending does: no deadlock.
        connection.execute("LOCK TABLE glasswarden.record IN ACCESS EXCLUSIVE MODE")
        if _is_empty(connection, name):  # still
            connection.execute(SQL("DROP TABLE {}").format(Identifier(SCHEMA, name)))


def _is_empty(connection: Connection, name: str) -> bool:
    query = SQL("SELECT FROM {} ORDER BY id LIMIT 1").format(Identifier(SCHEMA, name))
    return connection.execute(query).rowcount == 0
