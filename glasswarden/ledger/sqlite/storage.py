"""Records as rows of SQLite: cells for a record and back, and the statement for a question.

Ids are stored as bytes, times as microseconds, and all paths of a record in one cell. A statement
names its index: the choice must not depend on statistics that nobody has gathered. Where several
indexes would do, the one that likely finds the fewest records is chosen.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from glasswarden.ledger.compression import Bodies
from glasswarden.ledger.query import (
    IndexedColumns,
    Question,
    columns_of,
    fields_of,
    plain_columns_of,
    prefixes_below,
    searchable_form,
)
from glasswarden.ledger.record import Attempt, Record

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_ID_BYTES: Final = 16
_ID_LETTERS: Final = 36
_EXPIRY: Final = IndexedColumns._fields.index("grant_expires")

BETWEEN_FIELDS: Final = "\0"
"""No searchable text has it, so a path can be looked for with its ends."""


def bytes_of(record_id: str) -> bytes:
    """Return an id in 16 bytes, which sort as its text does."""
    return bytes.fromhex(record_id.replace("-", ""))


def first_id_of(moment: datetime) -> bytes:
    """Return the least id that a record of *moment* can have: ids begin with milliseconds."""
    return (microseconds_of(moment) // 1000).to_bytes(6, "big").ljust(16, b"\0")


def microseconds_of(moment: datetime) -> int:
    """Return *moment* as a number."""
    return (moment - EPOCH) // _MICROSECOND


def moment_of(microseconds: int) -> datetime:
    """Return the time that `microseconds_of` converted; every number is accepted."""
    try:
        return EPOCH + microseconds * _MICROSECOND
    except OverflowError:
        return _LATEST if microseconds > 0 else _EARLIEST


def join_paths(paths: Sequence[str]) -> bytes:
    """Return *paths* as one value, each between separators."""
    text = BETWEEN_FIELDS.join(paths)
    return f"{BETWEEN_FIELDS}{text}{BETWEEN_FIELDS}".encode() if paths else b""


def split_paths(fields: bytes) -> tuple[str, ...]:
    """Return the paths that `join_paths` joined, sorted; any other value is a single path."""
    text = fields.decode(errors="replace")
    paths = tuple(text[1:-1].split(BETWEEN_FIELDS)) if text else ()
    return tuple(sorted(paths)) if join_paths(paths) == fields else (text,)


def decode_text(stored: bytes) -> str:
    """Return *stored* as text: SQLite does not validate what is stored as text.

    What is not UTF-8 becomes a text that no record has; `encode_text` restores the bytes.
    """
    return stored.decode(errors="surrogateescape")


def encode_text(text: str) -> bytes:
    """Return the bytes that `decode_text` converted to *text*."""
    return text.encode(errors="surrogateescape")


def is_text(text: str) -> bool:
    """Return whether what `decode_text` returned was UTF-8."""
    return encode_text(text) == text.encode(errors="replace")


def cells_of_columns(columns: IndexedColumns) -> tuple[object, ...]:
    """Return *columns* as the values that are stored."""
    expires = columns.grant_expires
    return (
        bytes_of(columns.id),
        microseconds_of(columns.time),
        *columns[2:-1],
        None if expires is None else microseconds_of(expires),
    )


def columns_from(values: Sequence[Any]) -> IndexedColumns:
    """Return the columns in *values*, as `cells_of_columns` made them or as they were edited."""
    beginning = (_text_of(values[0]), moment_of(values[1]))
    return IndexedColumns._make((*beginning, *values[2:_EXPIRY], _expiry_of(values[_EXPIRY])))


def matches_cells(attempt: Attempt, values: Sequence[Any]) -> bool:
    """Return whether *values* are the columns of *attempt*, without calling `columns_from`.

    Comparing with `cells_of_columns` would not do: it maps several texts to one id.
    """
    return (
        values[2:_EXPIRY] == plain_columns_of(attempt)
        and _is_text_of(values[0], attempt.id)
        and moment_of(values[1]) == attempt.time
        and _expiry_of(values[_EXPIRY]) == attempt.grant_expires
    )


def _expiry_of(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else moment_of(microseconds)


def _text_of(record_id: bytes) -> str:
    # Several times faster than `UUID`.
    text = record_id.hex()
    if len(record_id) != _ID_BYTES:
        return text
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _is_text_of(record_id: bytes, text: str) -> bool:
    """Return whether *text* is a whole id: its digits, with dashes in four places."""
    return (
        record_id.hex() == text.replace("-", "")
        and text[8:24:5] == "----"
        and len(text) == _ID_LETTERS
    )


_NAMES: Final = (*IndexedColumns._fields, "fields", "body", "digest", "signature")
SELECTED: Final = ", ".join(f'"{name}"' for name in _NAMES)
_MARKS: Final = ", ".join("?" * len(_NAMES))
INSERT: Final = f"INSERT INTO record ({SELECTED}) VALUES ({_MARKS})"  # noqa: S608 - names of columns
_BESIDE: Final = len(IndexedColumns._fields)
"""Where the columns end that are `IndexedColumns`."""


class SqliteRow(NamedTuple):
    """A record as it was fetched; its columns are converted on access.

    That is rare: fsck only checks whether they are those of the record.
    """

    cells: Sequence[Any]
    body: bytes
    digest: str
    signature: str

    @property
    def columns(self) -> IndexedColumns:
        """Its indexed columns, without `fields`."""
        return columns_from(self.cells)

    @property
    def fields(self) -> tuple[str, ...]:
        """Its indexed paths, sorted."""
        return split_paths(self.cells[_BESIDE])

    def matches(self, attempt: Attempt) -> bool:
        """Return whether `columns` and `fields` are those of *attempt*."""
        paths = fields_of(attempt)
        # An earlier version joined the same paths in another order.
        are_fields = self.cells[_BESIDE] == join_paths(paths) or self.fields == paths
        return are_fields and matches_cells(attempt, self.cells)


def cells_of(record: Record, bodies: Bodies) -> tuple[object, ...]:
    """Return *record* as the values of `INSERT`."""
    return (
        *cells_of_columns(columns_of(record.entry)),
        join_paths(fields_of(record.entry)),
        bodies.pack(record.body),
        bytes.fromhex(record.digest),
        record.signature,
    )


def row_of(found: Sequence[Any], bodies: Bodies) -> SqliteRow:
    """Return what `SELECTED` found."""
    _, body, digest, signature = found[_BESIDE:]
    return SqliteRow(found, bodies.unpack(body), digest.hex(), signature)


_MILLISECOND: Final = timedelta(milliseconds=1)

# Every index goes on with the id, so what it finds is walked newest first; but a name without its
# namespace is sorted, which is no matter: few objects share one.
_INDEXES: Final = (
    ("grant", "record_grant"),
    ("ticket", "record_ticket"),
    ("name", "record_object"),
    ("actor", "record_actor"),
    ("app", "record_app"),
    ("namespace", "record_namespace"),
)
_PARTIAL: Final = frozenset({"grant", "ticket"})
"""Columns whose index leaves out what is empty."""


class Clause(NamedTuple):
    """A piece of SQL, and the values for its marks."""

    text: str
    values: tuple[object, ...] = ()


def statement_of(question: Question, selected: str = "body, digest, signature") -> Clause:
    """Return the statement for *question*: what is *selected* of its answers, newest first."""
    source = _source_of(question)
    tests = [Clause("type = 'attempt'"), *_column_tests(question.columns), *_time_tests(question)]
    if question.granted:
        tests.append(Clause("\"grant\" <> ''"))
    if question.field is not None:
        tests.append(_field_test(question.field))
    text = (
        f"SELECT {selected} FROM {source.text}"  # noqa: S608 - our own words
        f" WHERE {' AND '.join(test.text for test in tests)} ORDER BY id DESC LIMIT ?"
    )
    values = (value for clause in (source, *tests) for value in clause.values)
    return Clause(text, (*values, question.limit))


def _source_of(question: Question) -> Clause:
    """Return the table or index to walk."""
    columns = question.columns
    index = _choose_index(columns, granted=question.granted)
    if index != "record_object" or question.field is None:
        return Clause(f"record INDEXED BY {index}" if index else "record NOT INDEXED")
    # The index holds the fields: only records that have the one asked for are looked up.
    tests = [
        *_column_tests({name: columns[name] for name in ("name", "namespace") if name in columns})
    ]
    tests.append(_field_test(question.field))
    text = (
        f"(SELECT id FROM record INDEXED BY {index}"  # noqa: S608 - our own words
        f" WHERE {' AND '.join(test.text for test in tests)}) CROSS JOIN record USING (id)"
    )
    return Clause(text, tuple(value for test in tests for value in test.values))


def _choose_index(columns: Mapping[str, str], *, granted: bool) -> str:
    is_denied = columns.get("verdict") == "deny"
    for column, index in _INDEXES:
        if columns.get(column) or (column in columns and column not in _PARTIAL):
            return "record_denied_actor" if is_denied and column == "actor" else index
    if granted:
        return "record_granted"
    return "record_denied" if is_denied else ""


def _column_tests(columns: Mapping[str, str]) -> list[Clause]:
    tests = [Clause(f'"{name}" = ?', (text,)) for name, text in columns.items()]
    # SQLite uses a partial index only where its condition is part of the text, not bound.
    tests += [Clause(f"\"{name}\" <> ''") for name in _PARTIAL if columns.get(name)]
    if columns.get("verdict") == "deny":
        tests.append(Clause("verdict = 'deny'"))
    return tests


def _time_tests(question: Question) -> list[Clause]:
    """Return the limits of time: the ids' find the place, and times are finer than ids."""
    tests = []
    if (since := question.since) is not None:
        tests.append(Clause("id >= ? AND time >= ?", (first_id_of(since), microseconds_of(since))))
    if (until := question.until) is not None:
        behind = first_id_of(until + _MILLISECOND)
        tests.append(Clause("id < ? AND time < ?", (behind, microseconds_of(until))))
    if question.before is not None:
        tests.append(Clause("id < ?", (bytes_of(question.before),)))
    return tests


def _field_test(field: str) -> Clause:
    path = searchable_form(field)
    starts = [f"{path}{BETWEEN_FIELDS}", *prefixes_below(path)]
    test = " OR ".join(["instr(fields, ?)"] * len(starts))
    return Clause(f"({test})", tuple(f"{BETWEEN_FIELDS}{start}".encode() for start in starts))
