"""The API server's audit log, as far as it witnesses the ledger.

The answer to a review carries the record's id and digest, and the API server writes them down in a
log that neither the webhook nor the ledger's database can reach. One event may name several
records: the API server asks again when it tries a write again, and about each object of a
collection.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from glasswarden.audit.event import COMPLETE, Event
from glasswarden.audit.files import Flaw, read_events
from glasswarden.audit.testimony import records_in
from glasswarden.ledger.errors import LedgerError


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
        """Lines that are no event; each of them costs itself only."""
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
        for event in read_events(files, self._flawed):
            self._add(event)

    def _flawed(self, flaw: Flaw) -> None:
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
