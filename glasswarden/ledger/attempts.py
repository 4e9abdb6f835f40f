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
    return sorted(writes_in(attempts), key=lambda write: (write[0].time, write[0].id))


def writes_in(attempts: Iterable[Attempt]) -> Iterator[tuple[Attempt, ...]]:
    """Yield the same one by one, each as soon as no try of it can follow any more."""
    latest: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        while latest and attempt.time - _oldest(latest)[-1].time > RETRY_WINDOW:
            yield tuple(latest.pop(next(iter(latest))))
        target = (attempt.cluster, attempt.object_uid)
        # Taken out and put back: the dictionary's order is that of the latest tries.
        write = latest.pop(target, [])
        if write and not _is_retry(write[-1], attempt):
            yield tuple(write)
            write = []
        latest[target] = [*write, attempt]
    yield from map(tuple, latest.values())


def _oldest(latest: dict[tuple[str, str], list[Attempt]]) -> list[Attempt]:
    return next(iter(latest.values()))


def _is_retry(before: Attempt, attempt: Attempt) -> bool:
    return (
        before.fingerprint == attempt.fingerprint != ""
        and before.verdict == attempt.verdict
        and attempt.time - before.time <= RETRY_WINDOW
    )
