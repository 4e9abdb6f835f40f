"""Questions as SQL. Each is answered by walking an index backwards, newest partition first."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from glasswarden.ledger.postgres.fields import key_of
from glasswarden.ledger.question import Question, searchable, starts_below
from glasswarden.ledger.record import new_id

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
    tests = list(_tests(question))
    conditions = " AND ".join(["type = 'attempt'", *(test for test, _ in tests)])
    statement = (
        f"SELECT {selected} FROM glasswarden.record WHERE {conditions}"  # noqa: S608
        " ORDER BY id DESC LIMIT %s"
    )
    return statement, [value for _, values in tests for value in values] + [question.limit]


def _tests(question: Question) -> Iterator[tuple[str, list[Any]]]:
    for name, text in question.columns.items():
        yield f'"{name}" = %s', [text]
    # The id finds the partition and the page; the time is exact below the millisecond.
    if (since := question.since) is not None:
        yield "id >= %s AND time >= %s", [first_id(since), since]
    if (until := question.until) is not None:
        yield "id < %s AND time < %s", [first_id(until + _MILLISECOND), until]
    if question.before is not None:
        yield "id < %s", [question.before]
    if question.granted:
        yield "\"grant\" <> ''", []
    if question.field is not None:
        yield from _field_tests(searchable(question.field))


def _field_tests(path: str) -> Iterator[tuple[str, list[Any]]]:
    if path.strip("/"):  # the root is above everything: no index could tell
        yield "field_keys @> ARRAY[%s::int4]", [key_of(path)]
    begins = starts_below(path)
    within = " OR ".join(["path = %s", *["starts_with(path, %s)"] * len(begins)])
    yield f"EXISTS (SELECT FROM unnest(fields) AS field (path) WHERE {within})", [path, *begins]


def first_id(moment: datetime) -> str:
    """Return the least id that a record of *moment* can have: ids begin with milliseconds."""
    return f"{new_id(moment, bytes(10))[:13]}-0000-0000-000000000000"
