"""The attempts of one write.

The API server may ask more than once about what a person did once: when the object moved under a
PATCH, it tries again by itself, and each try is asked about.

Rows as records, for whoever must show what cannot be read too.

What arrives in a ledger, as it arrives.
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
"""Tries of one request follow each other within its time-out; people do not type that fast."""


def attempts_in(ledger: Ledger, since: datetime | None = None) -> Iterator[Attempt]:
    """Yield what was attempted, oldest first."""
    for row in ledger.oldest_first(since):
        entry = read_record(row.body, row.digest).entry
        if isinstance(entry, Attempt):
            yield entry


def asked(ledger: Ledger, question: Question, growth: int = 1) -> Iterator[Attempt]:
    """Yield all that *question* wants, newest first; its limit is how many are read at a time.

    With *growth*, each page is so many times as long as the one before: for those who mostly need
    the first few.
    """
    while page := ledger.ask(question):
        yield from (record.entry for record in page if isinstance(record.entry, Attempt))
        if len(page) < question.limit:
            return
        longer = min(question.limit * growth, max(question.limit, LONGEST_PAGE))
        question = replace(question, before=page[-1].entry.id, limit=longer)


def writes_of(attempts: Iterable[Attempt]) -> list[tuple[Attempt, ...]]:
    """Return *attempts*, oldest first, with the tries of one write together; the last one counts.

    Alike in who, what and how, and close in time. What others wrote to the object between does not
    matter: it is the very reason why the API server tries again.
    """
    writes: list[list[Attempt]] = []
    latest: dict[tuple[str, ...], list[Attempt]] = {}
    for attempt in attempts:
        likeness = _likeness(attempt)
        write = latest.get(likeness)
        if write is None or not _is_retry(write[-1], attempt):
            write = latest[likeness] = []
            writes.append(write)
        write.append(attempt)
    return [tuple(write) for write in writes]


def _likeness(attempt: Attempt) -> tuple[str, ...]:
    # What is created has no uid yet.
    target = (attempt.group, attempt.kind, attempt.namespace, attempt.name, attempt.object_uid)
    return attempt.cluster, *target, attempt.verdict, attempt.fingerprint


def _is_retry(before: Attempt, attempt: Attempt) -> bool:
    return attempt.fingerprint != "" and attempt.time - before.time <= RETRY_WINDOW


def record_in(row: Row) -> Record:
    """Return the record in *row*; where it is none, a `Damaged` with its place."""
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
    """Sees every record once that is stored after its making.

    It goes by places in chains, not by time: a record can be stored after one that is younger,
    because its writer was slower, or its network away.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seen = {head.writer: head.sequence for head in ledger.heads()}

    def arrived(self) -> list[Record]:
        """Return what has arrived since this was last asked, oldest first; also the damaged."""
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
