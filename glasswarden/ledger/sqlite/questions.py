"""From a question to the statement that answers it.

The statement names its index: which one is walked must not depend on statistics that nobody has
gathered. Where several would do, the one that likely finds the fewest records is taken.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from glasswarden.ledger.question import Question, searchable, starts_below
from glasswarden.ledger.sqlite.values import BETWEEN_FIELDS, bytes_of, first_id, microseconds_of

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
