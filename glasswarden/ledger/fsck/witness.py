"""The ledger and its outside witness: what either knows, the other must know too."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from glasswarden.ledger.attempts import writes_in
from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.fsck.audit_log import AuditLog, Witness
from glasswarden.ledger.fsck.findings import Finding, RecordMissing, Unwitnessed, WitnessDiffers
from glasswarden.ledger.fsck.testimony import Testimony
from glasswarden.ledger.ledger import Ledger, Row
from glasswarden.ledger.record import Attempt, new_id, read_record

CLOCKS_APART: Final = timedelta(hours=1)
"""How far the clocks of the API server and the webhook may differ."""


class Covered(NamedTuple):
    """Which records a log must know: those of its time, and of its cluster if that is named."""

    since: datetime
    until: datetime
    cluster: str = ""

    def covers(self, attempt: Attempt) -> bool:
        """Tell whether the log must know *attempt*."""
        return self.since <= attempt.time <= self.until and self.cluster in ("", attempt.cluster)


class WitnessCheck:
    """Rows and witnesses, both by id, walked through side by side."""

    def __init__(self, covered: Covered) -> None:
        self._covered = covered
        self._witnessed: set[str] = set()
        """Of the attempts of writes that may still be tried again."""
        self._missing: list[Finding] = []

    def findings(self, rows: Iterable[Row], witnesses: Iterable[Witness]) -> Iterator[Finding]:
        """Yield what only one side knows.

        The API server writes one event for a write, however often it asked about it: of several
        tries one witness is enough.
        """
        for write in writes_in(self._attempts(rows, witnesses)):
            is_witnessed = not self._witnessed.isdisjoint(attempt.id for attempt in write)
            self._witnessed.difference_update(attempt.id for attempt in write)
            if not is_witnessed:
                yield from map(_unwitnessed, filter(self._covered.covers, write))
            yield from self._taken()
        yield from self._taken()

    def _taken(self) -> list[Finding]:
        taken, self._missing = self._missing, []
        return taken

    def _attempts(self, rows: Iterable[Row], witnesses: Iterable[Witness]) -> Iterator[Attempt]:
        """Yield the attempts in *rows*, and note on the way who witnessed what."""
        left = iter(witnesses)
        witness = next(left, None)
        for row in rows:
            while witness is not None and witness.id <= row.columns.id:
                self._judge(witness, row)
                witness = next(left, None)
            if (attempt := _attempt_in(row)) is not None:
                yield attempt
        while witness is not None:
            self._judge(witness, None)
            witness = next(left, None)

    def _judge(self, witness: Witness, row: Row | None) -> None:
        if row is None or row.columns.id != witness.id:
            self._missing.append(RecordMissing(id=witness.id, audit_id=witness.audit_id))
            return
        self._witnessed.add(witness.id)
        if row.digest != witness.digest:
            self._missing.append(
                WitnessDiffers(
                    chain=row.columns.writer,
                    sequence=row.columns.sequence,
                    id=witness.id,
                    audit_id=witness.audit_id,
                )
            )


def _attempt_in(row: Row) -> Attempt | None:
    try:
        entry = read_record(row.body, row.digest).entry
    except RecordMalformed:  # said where its chain is read
        return None
    return entry if isinstance(entry, Attempt) else None


def _unwitnessed(attempt: Attempt) -> Finding:
    return Unwitnessed(chain=attempt.writer, sequence=attempt.sequence, id=attempt.id)


def compared(
    ledger: Ledger,
    log: AuditLog,
    testimony: Testimony,
    lag: timedelta,
    cluster: str = "",
    since: datetime | None = None,
) -> Iterator[Finding]:
    """Yield what only one of *ledger* and *log* knows, of what is younger than *since*.

    *lag* is how long an event may take to be written; records that near to either end of the log
    are not missed in it. What retention took is not missed in the ledger.
    """
    if log.since is None or log.until is None:
        return
    begin = max(filter(None, (since, testimony.pruned_before)), default=None)
    first = new_id(begin, bytes(10)) if begin else ""
    witnesses = (witness for witness in log.witnesses() if witness.id >= first)
    covered = Covered(max(begin or log.since, log.since + lag), log.until - lag, cluster)
    # A witness may be of a record that is older than the log: the clocks are two.
    earliest = begin or log.since - CLOCKS_APART
    yield from WitnessCheck(covered).findings(ledger.oldest_first(earliest), witnesses)
