"""A record as columns, and back.

Values as SQLite keeps them: ids as bytes, moments as microseconds, paths in one piece.

From a question to the statement that answers it.

The statement names its index: which one is walked must not depend on statistics that nobody has
gathered. Where several would do, the one that likely finds the fewest records is taken.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from glasswarden.ledger.compression import Bodies
from glasswarden.ledger.query import (
    Indexed,
    Question,
    fields_of,
    indexed,
    plain_columns,
    searchable,
    starts_below,
)
from glasswarden.ledger.record import Attempt, Record

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_ID_BYTES: Final = 16
_ID_LETTERS: Final = 36
_EXPIRY: Final = Indexed._fields.index("grant_expires")

BETWEEN_FIELDS: Final = "\0"
"""No searchable text has it, so a path can be looked for with its ends."""


def bytes_of(record_id: str) -> bytes:
    """Return an id in 16 bytes, which sort as its text does."""
    return bytes.fromhex(record_id.replace("-", ""))


def first_id(moment: datetime) -> bytes:
    """Return the least id that a record of *moment* can have: ids begin with milliseconds."""
    return (microseconds_of(moment) // 1000).to_bytes(6, "big").ljust(16, b"\0")


def microseconds_of(moment: datetime) -> int:
    """Return *moment* as a number."""
    return (moment - EPOCH) // _MICROSECOND


def moment_of(microseconds: int) -> datetime:
    """Return the moment that `microseconds_of` made a number; no number is refused."""
    try:
        return EPOCH + microseconds * _MICROSECOND
    except OverflowError:
        return _LATEST if microseconds > 0 else _EARLIEST


def joined(paths: Sequence[str]) -> bytes:
    """Return *paths* in one piece, each between separators."""
    text = BETWEEN_FIELDS.join(paths)
    return f"{BETWEEN_FIELDS}{text}{BETWEEN_FIELDS}".encode() if paths else b""


def separated(fields: bytes) -> tuple[str, ...]:
    """Return the paths that `joined` put together, sorted; what it did not is one odd path."""
    text = fields.decode(errors="replace")
    paths = tuple(text[1:-1].split(BETWEEN_FIELDS)) if text else ()
    return tuple(sorted(paths)) if joined(paths) == fields else (text,)


def any_text(stored: bytes) -> str:
    """Return *stored* as text, whatever it is: SQLite does not look at what it is told is text.

    What is no UTF-8 becomes a text that no record has, and `raw` makes of it what it was.
    """
    return stored.decode(errors="surrogateescape")


def raw(text: str) -> bytes:
    """Return the bytes that `any_text` made *text* of."""
    return text.encode(errors="surrogateescape")


def is_text(text: str) -> bool:
    """Tell whether what `any_text` returned was UTF-8."""
    return raw(text) == text.encode(errors="replace")


def stored(columns: Indexed) -> tuple[object, ...]:
    """Return *columns* as they are kept."""
    expires = columns.grant_expires
    return (
        bytes_of(columns.id),
        microseconds_of(columns.time),
        *columns[2:-1],
        None if expires is None else microseconds_of(expires),
    )


def restored(values: Sequence[Any]) -> Indexed:
    """Return the columns that `stored` made *values* of, or somebody who changed them since."""
    beginning = (_text_of(values[0]), moment_of(values[1]))
    return Indexed._make((*beginning, *values[2:_EXPIRY], _expiry_of(values[_EXPIRY])))


def is_kept(attempt: Attempt, values: Sequence[Any]) -> bool:
    """Tell whether `restored` makes the columns of *attempt* of *values*, without making them.

    Not whether `stored` makes *values* of them: several texts are one id to it, and others none.
    """
    return (
        values[2:_EXPIRY] == plain_columns(attempt)
        and _is_text_of(values[0], attempt.id)
        and moment_of(values[1]) == attempt.time
        and _expiry_of(values[_EXPIRY]) == attempt.grant_expires
    )


def _expiry_of(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else moment_of(microseconds)


def _text_of(record_id: bytes) -> str:
    # Several times faster than `UUID` would say the same.
    text = record_id.hex()
    if len(record_id) != _ID_BYTES:
        return text
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _is_text_of(record_id: bytes, text: str) -> bool:
    """Tell whether `_text_of` makes *text* of a whole id: its digits, and dashes in four places."""
    return (
        record_id.hex() == text.replace("-", "")
        and text[8:24:5] == "----"
        and len(text) == _ID_LETTERS
    )


_NAMES: Final = (*Indexed._fields, "fields", "body", "digest", "signature")
SELECTED: Final = ", ".join(f'"{name}"' for name in _NAMES)
_MARKS: Final = ", ".join("?" * len(_NAMES))
INSERT: Final = f"INSERT INTO record ({SELECTED}) VALUES ({_MARKS})"  # noqa: S608 - names of columns
_BESIDE: Final = len(Indexed._fields)
"""Where the columns end that are `Indexed`."""


class SqliteRow(NamedTuple):
    """A record as it was fetched; its columns are restored when somebody looks at them.

    That is seldom: fsck only wants to know whether they are those of the record.
    """

    cells: Sequence[Any]
    body: bytes
    digest: str
    signature: str

    @property
    def columns(self) -> Indexed:
        """What it can be found by, but for `fields`."""
        return restored(self.cells)

    @property
    def fields(self) -> tuple[str, ...]:
        """The paths it can be found by, sorted."""
        return separated(self.cells[_BESIDE])

    def matches(self, attempt: Attempt) -> bool:
        """Tell whether `columns` and `fields` are those of *attempt*."""
        paths = fields_of(attempt)
        # Who stored them before they were sorted joined the same paths in another order.
        are_fields = self.cells[_BESIDE] == joined(paths) or self.fields == paths
        return are_fields and is_kept(attempt, self.cells)


def cells_of(record: Record, bodies: Bodies) -> tuple[object, ...]:
    """Return *record* as the values of `INSERT`."""
    return (
        *stored(indexed(record.entry)),
        joined(fields_of(record.entry)),
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
    source = _source(question)
    tests = [Clause("type = 'attempt'"), *_columns(question.columns), *_bounds(question)]
    if question.granted:
        tests.append(Clause("\"grant\" <> ''"))
    if question.field is not None:
        tests.append(_field(question.field))
    text = (
        f"SELECT {selected} FROM {source.text}"  # noqa: S608 - our own words
        f" WHERE {' AND '.join(test.text for test in tests)} ORDER BY id DESC LIMIT ?"
    )
    values = (value for clause in (source, *tests) for value in clause.values)
    return Clause(text, (*values, question.limit))


def _source(question: Question) -> Clause:
    """Return what is walked."""
    columns = question.columns
    index = _index(columns, granted=question.granted)
    if index != "record_object" or question.field is None:
        return Clause(f"record INDEXED BY {index}" if index else "record NOT INDEXED")
    # The index holds the fields: only records that have the one asked for are looked up.
    tests = [*_columns({name: columns[name] for name in ("name", "namespace") if name in columns})]
    tests.append(_field(question.field))
    text = (
        f"(SELECT id FROM record INDEXED BY {index}"  # noqa: S608 - our own words
        f" WHERE {' AND '.join(test.text for test in tests)}) CROSS JOIN record USING (id)"
    )
    return Clause(text, tuple(value for test in tests for value in test.values))


def _index(columns: Mapping[str, str], *, granted: bool) -> str:
    is_denied = columns.get("verdict") == "deny"
    for column, index in _INDEXES:
        if columns.get(column) or (column in columns and column not in _PARTIAL):
            return "record_denied_actor" if is_denied and column == "actor" else index
    if granted:
        return "record_granted"
    return "record_denied" if is_denied else ""


def _columns(columns: Mapping[str, str]) -> list[Clause]:
    tests = [Clause(f'"{name}" = ?', (text,)) for name, text in columns.items()]
    # SQLite takes a partial index only where the index's own condition is said, not bound.
    tests += [Clause(f"\"{name}\" <> ''") for name in _PARTIAL if columns.get(name)]
    if columns.get("verdict") == "deny":
        tests.append(Clause("verdict = 'deny'"))
    return tests


def _bounds(question: Question) -> list[Clause]:
    """Return the limits of time: the ids' find the place, and times are finer than ids."""
    tests = []
    if (since := question.since) is not None:
        tests.append(Clause("id >= ? AND time >= ?", (first_id(since), microseconds_of(since))))
    if (until := question.until) is not None:
        behind = first_id(until + _MILLISECOND)
        tests.append(Clause("id < ? AND time < ?", (behind, microseconds_of(until))))
    if question.before is not None:
        tests.append(Clause("id < ?", (bytes_of(question.before),)))
    return tests


def _field(field: str) -> Clause:
    path = searchable(field)
    starts = [f"{path}{BETWEEN_FIELDS}", *starts_below(path)]
    test = " OR ".join(["instr(fields, ?)"] * len(starts))
    return Clause(f"({test})", tuple(f"{BETWEEN_FIELDS}{start}".encode() for start in starts))
