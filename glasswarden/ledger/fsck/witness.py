"""The API server's audit log as a witness of the ledger: each must contain what the other does.

The response to an admission review carries the record's id and digest. The API server writes them
to a log that neither the webhook nor the ledger's database can reach. One event may name several
records: the API server asks again when it retries a write, and separately for each object of a
collection.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from glasswarden.audit.event import COMPLETE, Event, records_in
from glasswarden.audit.files import Flaw, read_events
from glasswarden.ledger.errors import LedgerError, RecordMalformed
from glasswarden.ledger.fsck.findings import Finding, RecordMissing, Unwitnessed, WitnessDiffers
from glasswarden.ledger.fsck.trust import Testimony
from glasswarden.ledger.ledger import Ledger, Row
from glasswarden.ledger.record import Attempt, new_id, read_record


class LogUnreadable(LedgerError):
    """A file of the audit log cannot be read; correct its path or its rights."""


class Witness(NamedTuple):
    """A record as the API server saw it."""

    id: str
    digest: str
    audit_id: str


class AuditLog:
    """What a log witnesses, by record; on the disk, since a log may be larger than memory."""

    def __init__(self) -> None:
        self.events = 0
        self.broken = 0
        """Lines that are not events; they are skipped."""
        self.since: datetime | None = None
        self.until: datetime | None = None
        """The time that the log covers."""
        # A database without a name is a temporary file that nobody else sees.
        self._witnesses = sqlite3.connect("", isolation_level=None)
        self._witnesses.execute(
            "CREATE TABLE witness (id TEXT, digest TEXT, audit_id TEXT, PRIMARY KEY (id, digest))"
            " WITHOUT ROWID"
        )
        self._witnesses.execute("BEGIN")

    def read(self, files: Iterable[Path]) -> None:
        """Add what *files* hold, in any order."""
        for event in read_events(files, self._note_flaw):
            self._add(event)

    def _note_flaw(self, flaw: Flaw) -> None:
        if not flaw.line:
            raise LogUnreadable(str(flaw))
        self.broken += 1

    def _add(self, event: Event) -> None:
        if event.stage != COMPLETE:
            return
        self.events += 1
        self._cover(event.request_received_timestamp, event.stage_timestamp)
        self._witnesses.executemany(
            "INSERT OR IGNORE INTO witness VALUES (?, ?, ?)",
            ((record, digest, event.audit_id) for record, digest in records_in(event)),
        )

    def _cover(self, received: datetime, answered: datetime) -> None:
        self.since = min(self.since or received, answered)
        self.until = max(self.until or answered, answered)

    def witnesses(self) -> Iterator[Witness]:
        """Yield what was witnessed, by the record's id."""
        yield from map(
            Witness._make,
            self._witnesses.execute("SELECT id, digest, audit_id FROM witness ORDER BY id, digest"),
        )

    def close(self) -> None:
        """Remove the temporary file."""
        self._witnesses.close()


def read_logs(files: Iterable[Path]) -> AuditLog:
    """Return what *files*, in any order, witness."""
    log = AuditLog()
    log.read(files)
    return log


CLOCKS_APART: Final = timedelta(hours=1)
"""How far the clocks of the API server and the webhook usually differ at most.

Older records are looked up one by one, which takes longer.
"""


class Coverage(NamedTuple):
    """The records that a log must contain: those of its time, and of its cluster if named."""

    since: datetime
    until: datetime
    cluster: str = ""

    def covers(self, attempt: Attempt) -> bool:
        """Return whether the log must contain *attempt*."""
        return self.since <= attempt.time <= self.until and self.cluster in ("", attempt.cluster)


def find_differences(
    rows: Iterable[Row],
    witnesses: Iterable[Witness],
    covered: Coverage,
    find: Callable[[str], Row | None],
) -> Iterator[Finding]:
    """Yield what only one side has; both are ordered by id, and are walked in parallel.

    What is not among *rows* is looked up by *find*: after a clock was set back, records may be far
    older than their witnesses.
    """
    left = iter(witnesses)
    witness = next(left, None)
    for row in rows:
        is_witnessed, place = False, row.columns
        while witness is not None and witness.id <= place.id:
            known = row if witness.id == place.id else find(witness.id)
            yield from _compare_row(witness, known)
            is_witnessed = witness.id == place.id
            witness = next(left, None)
        if not is_witnessed and _is_missed(row, covered):
            yield Unwitnessed(chain=place.writer, sequence=place.sequence, id=place.id)
    while witness is not None:
        yield from _compare_row(witness, find(witness.id))
        witness = next(left, None)


def _is_missed(row: Row, covered: Coverage) -> bool:
    """Return whether the log should contain *row*: by its bytes, since columns can be edited."""
    try:
        entry = read_record(row.body, row.digest).entry
    except RecordMalformed:  # reported where its chain is read
        return False
    return isinstance(entry, Attempt) and covered.covers(entry)


def _compare_row(witness: Witness, row: Row | None) -> Iterator[Finding]:
    """Yield how *witness* differs from *row*, the record of that id, if there is one."""
    if row is None:
        yield RecordMissing(id=witness.id, audit_id=witness.audit_id)
    elif witness.digest != row.digest:
        yield WitnessDiffers(
            chain=row.columns.writer,
            sequence=row.columns.sequence,
            id=witness.id,
            audit_id=witness.audit_id,
        )


def compare_with_log(
    ledger: Ledger,
    log: AuditLog,
    testimony: Testimony,
    lag: timedelta,
    cluster: str = "",
    since: datetime | None = None,
) -> Iterator[Finding]:
    """Yield what only one of *ledger* and *log* has, of what is newer than *since*.

    *lag* is how long an event may take to be written; records that near to either end of the log
    are not required in it. What retention removed is not required in the ledger.
    """
    if log.since is None or log.until is None:
        return
    begin = max(filter(None, (since, testimony.pruned_before)), default=None)
    first = new_id(begin, bytes(10)) if begin else ""
    witnesses = (witness for witness in log.witnesses() if witness.id >= first)
    covered = Coverage(max(begin or log.since, log.since + lag), log.until - lag, cluster)
    # A witness may be of a record that is older than the log: the clocks are two.
    rows = ledger.rows_since(begin or log.since - CLOCKS_APART)
    yield from find_differences(rows, witnesses, covered, ledger.find)
