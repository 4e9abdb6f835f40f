"""The attempts of one write.

The API server may ask more than once about what a person did once: when the object moved under a
PATCH, it tries again by itself, and each try is asked about.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt, read_record

RETRY_WINDOW: Final = timedelta(seconds=5)
"""Tries of one request follow each other within its time-out; people do not type that fast."""


def attempts_in(ledger: Ledger, since: datetime | None = None) -> Iterator[Attempt]:
    """Yield what was attempted, oldest first."""
    for row in ledger.oldest_first(since):
        entry = read_record(row.body, row.digest).entry
        if isinstance(entry, Attempt):
            yield entry


def writes_of(attempts: Iterable[Attempt]) -> list[tuple[Attempt, ...]]:
    """Return *attempts*, oldest first, with the tries of one write together; the last one counts.

    Alike in who, what and how, and close in time: two writes of a person that are alike in all of
    this cannot both be stored, since the second would change nothing, unless another came between.
    """
    writes: list[list[Attempt]] = []
    latest: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        target = (attempt.cluster, attempt.object_uid)
        write = latest.get(target)
        if write is None or not _is_retry(write[-1], attempt):
            write = latest[target] = []
            writes.append(write)
        write.append(attempt)
    return [tuple(write) for write in writes]


def _is_retry(before: Attempt, attempt: Attempt) -> bool:
    return (
        before.fingerprint == attempt.fingerprint != ""
        and before.verdict == attempt.verdict
        and attempt.time - before.time <= RETRY_WINDOW
    )
