"""Records as rows of PostgreSQL: values for a record and back, and the statement for a question.

Each question is answered by walking an index backwards, newest partition first. Field paths are
indexed by a number for each path and for every path above it, which makes a small index with few
distinct keys; two paths may share a number, so the paths of a record that was found are compared
again.

Text columns are packed in one step, because psycopg inspects each item of a list, which took longer
than the rest of a commit. Times may be infinite or outside of the calendar of Python: no record has
such a time, but an edited cell may, and the rest of the row must still be readable.
"""

import re
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple
from zlib import crc32

from psycopg import Connection, Cursor
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.postgres import types
from psycopg.pq import Format

from glasswarden.ledger.compression import Bodies
from glasswarden.ledger.query import (
    IndexedColumns,
    Question,
    columns_of,
    fields_of,
    prefixes_below,
    searchable_form,
)
from glasswarden.ledger.record import Attempt, Record, new_id

_STEP: Final = re.compile(r"[/\[]")


def key_of(path: str) -> int:
    """Return the number of *path*: CRC-32, as a signed integer of four bytes."""
    return int.from_bytes(crc32(path.encode()).to_bytes(4), signed=True)


@lru_cache(maxsize=4096)
def keys_of(paths: tuple[str, ...]) -> list[int]:
    """Return the numbers of *paths* and of everything above them, each once."""
    above = {path[: step.start()] for path in paths for step in _STEP.finditer(path)}
    return sorted({key_of(path) for path in above.union(paths)})


@lru_cache(maxsize=4096)
def array_of(texts: tuple[str, ...]) -> str:
    """Return *texts* as PostgreSQL writes an array."""
    escaped = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in escaped) + "}"


@lru_cache(maxsize=4096)
def numbers_of(paths: tuple[str, ...]) -> str:
    """Return the numbers of *paths* as PostgreSQL writes an array."""
    return "{" + ",".join(map(str, keys_of(paths))) + "}"


_TEXT: Final = types["text"]
_HEAD: Final = struct.Struct("!5i")
_LENGTH: Final = struct.Struct("!i")


class Texts(list[str]):
    """Texts, at least one, that become a `text[]`."""


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = _TEXT.array_oid

    def dump(self, obj: Texts) -> bytes:
        # One dimension, no nulls, the items' type, how many, counted from 1.
        parts = [_HEAD.pack(1, 0, _TEXT.oid, len(obj), 1)]
        for text in obj:
            encoded = text.encode()
            parts += (_LENGTH.pack(len(encoded)), encoded)
        return b"".join(parts)


def register_texts(connection: Connection[object]) -> None:
    """Register the dumper for `Texts` on *connection*."""
    connection.adapters.register_dumper(Texts, _TextsDumper)


_TYPES: Final = {
    "id": "uuid",
    "time": "timestamptz",
    "sequence": "int8",
    "grant_expires": "timestamptz",
    "body": "bytea",
    "digest": "bytea",
}
"""Columns that are not text. Ids are sent as text nevertheless: the server parses them fast."""

_NAMES: Final = (*IndexedColumns._fields, "body", "digest", "signature", "fields", "field_keys")
_COLUMNS: Final = ", ".join(f'"{name}"' for name in _NAMES)
_ARRAYS: Final = ", ".join(f"%({name})b::{_TYPES.get(name, 'text')}[]" for name in _NAMES)

# Arrays in an array would have to be of one length, so each of them comes as a text.
INSERT: Final = f"""
    INSERT INTO glasswarden.record ({_COLUMNS})
    SELECT {_COLUMNS.removesuffix('"fields", "field_keys"')} fields::text[], field_keys::int4[]
    FROM unnest({_ARRAYS}) AS batch ({_COLUMNS})
"""  # noqa: S608 - names of columns
BY_WRITER: Final = """
    hashtextextended(writer, 0) = hashtextextended(%(writer)s, 0) AND writer = %(writer)s
"""
"""The condition that finds the records of one chain by their index."""

SELECTED: Final = _COLUMNS
_ODD: Final = ("\0",)  # no searchable text has it


class PostgresRow(NamedTuple):
    """A record as it was fetched."""

    columns: IndexedColumns
    body: bytes
    digest: str
    signature: str
    fields: tuple[str, ...]

    def matches(self, attempt: Attempt) -> bool:
        """Return whether `columns` and `fields` are those of *attempt*."""
        return self.columns == columns_of(attempt) and self.fields == fields_of(attempt)


def batch_of(records: Sequence[Record], bodies: Bodies) -> dict[str, list[Any]]:
    """Return *records* as the values of `INSERT`: a list a column."""
    rows = [columns_of(record.entry) for record in records]
    batch: dict[str, list[Any]] = {
        name: Texts(values) if name == "id" or name not in _TYPES else list(values)
        for name, values in zip(IndexedColumns._fields, zip(*rows, strict=True), strict=True)
    }
    paths = [fields_of(record.entry) for record in records]
    return batch | {
        "body": [bodies.pack(record.body) for record in records],
        "digest": [bytes.fromhex(record.digest) for record in records],
        "signature": Texts(record.signature for record in records),
        "fields": Texts(map(array_of, paths)),
        "field_keys": Texts(map(numbers_of, paths)),
    }


def row_of(found: Sequence[Any], bodies: Bodies) -> PostgresRow:
    """Return what `SELECTED` found."""
    id_, *columns, body, digest, signature, fields, keys = found
    found_columns = IndexedColumns(str(id_), *columns)
    paths = _paths_of(fields, keys)
    return PostgresRow(found_columns, bodies.unpack(body), digest.hex(), signature, paths)


def _paths_of(fields: list[Any], keys: list[Any]) -> tuple[str, ...]:
    """Return the paths in *fields*, sorted; what we did not write is one odd path."""
    try:
        paths = tuple(sorted(fields))
        # Without their numbers paths are no use: nothing is found by them.
        return paths if sorted(keys) == keys_of(paths) else _ODD
    except TypeError:  # nulls, or arrays in the array
        return _ODD


_BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""From where the server counts microseconds."""

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


class _AnyMoment(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> datetime:
        microseconds = int.from_bytes(bytes(data), signed=True)
        try:
            return _BEGINNING + timedelta(microseconds=microseconds)
        except OverflowError:
            return _LATEST if microseconds > 0 else _EARLIEST


def accept_any_moment(cursor: Cursor[Any]) -> None:
    """Have *cursor* take whatever moment it is given for the nearest one that there is."""
    cursor.adapters.register_loader("timestamptz", _AnyMoment)


_MILLISECOND: Final = timedelta(milliseconds=1)

# What is no attempt is about no kind of object.
GAPS: Final = """
    SELECT body, digest, signature FROM glasswarden.record
    WHERE kind = '' AND type = 'gap' AND cluster = %s ORDER BY id DESC
"""

OPEN_GRANTS: Final = """
    SELECT body, digest, signature FROM glasswarden.record AS issued
    WHERE cluster = %s AND "grant" <> '' AND grant_act IN ('issued', 'approved', 'extended')
      AND grant_expires > %s
      AND NOT EXISTS (
        SELECT FROM glasswarden.record AS later
        WHERE later."grant" = issued."grant" AND later."grant" <> ''
          AND later.cluster = issued.cluster
          AND (later.grant_act = 'closed'
               OR later.grant_act IN ('approved', 'extended') AND later.id > issued.id)
      )
      AND NOT EXISTS (
        SELECT FROM glasswarden.record AS newer
        WHERE newer.type = 'attempt' AND newer.namespace = issued.namespace
          AND newer.name = issued.name AND newer.id > issued.id
          AND newer.grant_act IN ('issued', 'approved', 'closed') AND newer."grant" <> ''
          AND newer.kind = issued.kind AND newer."group" = issued."group"
          AND newer.cluster = issued.cluster
      )
    ORDER BY id DESC
"""


def statement_of(
    question: Question, selected: str = "body, digest, signature"
) -> tuple[str, list[Any]]:
    """Return *question* as a statement, and the values for its marks."""
    tests = list(_tests_of(question))
    conditions = " AND ".join(["type = 'attempt'", *(test for test, _ in tests)])
    statement = (
        f"SELECT {selected} FROM glasswarden.record WHERE {conditions}"  # noqa: S608
        " ORDER BY id DESC LIMIT %s"
    )
    return statement, [value for _, values in tests for value in values] + [question.limit]


def _tests_of(question: Question) -> Iterator[tuple[str, list[Any]]]:
    for name, text in question.columns.items():
        yield f'"{name}" = %s', [text]
    # The id finds the partition and the page; the time is exact below the millisecond.
    if (since := question.since) is not None:
        yield "id >= %s AND time >= %s", [first_id_of(since), since]
    if (until := question.until) is not None:
        yield "id < %s AND time < %s", [first_id_of(until + _MILLISECOND), until]
    if question.before is not None:
        yield "id < %s", [question.before]
    if question.granted:
        yield "\"grant\" <> ''", []
    if question.field is not None:
        yield from _field_tests(searchable_form(question.field))


def _field_tests(path: str) -> Iterator[tuple[str, list[Any]]]:
    if path.strip("/"):  # the root is above everything: no index could tell
        yield "field_keys @> ARRAY[%s::int4]", [key_of(path)]
    begins = prefixes_below(path)
    within = " OR ".join(["path = %s", *["starts_with(path, %s)"] * len(begins)])
    yield f"EXISTS (SELECT FROM unnest(fields) AS field (path) WHERE {within})", [path, *begins]


def first_id_of(moment: datetime) -> str:
    """Return the least id that a record of *moment* can have: ids begin with milliseconds."""
    return f"{new_id(moment, bytes(10))[:13]}-0000-0000-000000000000"
