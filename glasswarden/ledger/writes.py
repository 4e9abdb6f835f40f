"""Reading the attempts in a ledger: by question, grouped into writes, or as they arrive.

The API server may send several requests for one write of a person: when the object changed during a
PATCH, it retries on its own, and each try is recorded as an attempt.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.ledger import Ledger, Row
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import FORMAT, Attempt, Damaged, Record, read_record

LONGEST_PAGE: Final = 500
"""Records that pages grow to."""

RETRY_WINDOW: Final = timedelta(seconds=5)
"""Tries of one request follow each other within its time-out, faster than a person could."""


def attempts_in(ledger: Ledger, since: datetime | None = None) -> Iterator[Attempt]:
    """Yield all attempts, oldest first."""
    for row in ledger.rows_since(since):
        entry = read_record(row.body, row.digest).entry
        if isinstance(entry, Attempt):
            yield entry


def find_attempts(ledger: Ledger, question: Question, growth: int = 1) -> Iterator[Attempt]:
    """Yield all attempts that match *question*, newest first; its limit is the page size.

    With *growth*, each page is that many times as long as the previous one: for callers that
    mostly need the first few.
    """
    while page := ledger.ask(question):
        yield from (record.entry for record in page if isinstance(record.entry, Attempt))
        if len(page) < question.limit:
            return
        longer = min(question.limit * growth, max(question.limit, LONGEST_PAGE))
        question = replace(question, before=page[-1].entry.id, limit=longer)


def writes_of(attempts: Iterable[Attempt]) -> list[tuple[Attempt, ...]]:
    """Return *attempts*, oldest first, with the tries of one write together; the last one counts.

    Tries of one write have the same actor, object and fingerprint, and are close in time. Writes of
    others to the object in between do not matter: they are why the API server retries.
    """
    writes: list[list[Attempt]] = []
    latest: dict[tuple[str, ...], list[Attempt]] = {}
    for attempt in attempts:
        likeness = _likeness_of(attempt)
        write = latest.get(likeness)
        if write is None or not _is_retry(write[-1], attempt):
            write = latest[likeness] = []
            writes.append(write)
        write.append(attempt)
    return [tuple(write) for write in writes]


def _likeness_of(attempt: Attempt) -> tuple[str, ...]:
    # What is created has no uid yet.
    target = (attempt.group, attempt.kind, attempt.namespace, attempt.name, attempt.object_uid)
    return attempt.cluster, *target, attempt.verdict, attempt.fingerprint


def _is_retry(before: Attempt, attempt: Attempt) -> bool:
    return attempt.fingerprint != "" and attempt.time - before.time <= RETRY_WINDOW


def record_in(row: Row) -> Record:
    """Return the record in *row*; if it cannot be read, a `Damaged` with its place."""
    try:
        return read_record(row.body, row.digest, row.signature)
    except RecordMalformed as error:
        columns = row.columns
        entry = Damaged(
            format=FORMAT,
            id=columns.id,
            time=columns.time,
            cluster=columns.cluster,
            writer=columns.writer,
            sequence=columns.sequence,
            why=str(error),
        )
        return Record(entry, row.body, row.digest, row.signature)


class Follower:
    """Returns each record once that is stored after the follower was created.

    It compares places in chains, not times: a record can be stored after a newer one, because its
    writer was slower, or its network unavailable.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seen = {head.writer: head.sequence for head in ledger.heads()}

    def poll(self) -> list[Record]:
        """Return the records since the last call, oldest first, including damaged ones."""
        records = [
            record_in(row)
            for head in self._ledger.heads()
            if head.sequence > self._seen.get(head.writer, 0)
            for row in self._ledger.rows(head.writer, self._seen.get(head.writer, 0))
        ]
        for record in records:
            place = record.entry
            self._seen[place.writer] = max(self._seen.get(place.writer, 0), place.sequence)
        return sorted(records, key=lambda record: record.entry.id)
