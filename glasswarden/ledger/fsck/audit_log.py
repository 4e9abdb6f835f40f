"""The API server's audit log, as far as it witnesses the ledger.

The answer to a review carries the record's id and digest, and the API server writes them down in a
log that neither the webhook nor the ledger's database can reach. One event may name several
records: the API server asks again when it tries a write again, and about each object of a
collection.
"""

import gzip
import re
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BufferedReader
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from glasswarden.ledger.errors import LedgerError

_OURS: Final = re.compile(r"[a-z0-9.-]+\.glasswarden\.io")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_GZIP: Final = b"\x1f\x8b"


class LogUnreadable(LedgerError):
    """A file of the audit log cannot be read; correct its path or its rights."""


class Witness(NamedTuple):
    """A record as the API server saw it."""

    id: str
    digest: str
    audit_id: str


class _Event(msgspec.Struct, rename="camel"):
    """What matters of an `audit.k8s.io/v1` Event."""

    kind: str
    audit_id: str = msgspec.field(name="auditID")
    stage: str
    request_received_timestamp: datetime
    stage_timestamp: datetime
    annotations: dict[str, str] = {}


_decoder = msgspec.json.Decoder(_Event)


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

    def read(self, file: Path) -> None:
        """Add what *file* holds: JSON lines, gzipped or not."""
        try:
            with file.open("rb") as stream:
                for line in _unzipped(stream):
                    self._add(line)
        except (OSError, EOFError) as error:
            raise LogUnreadable(f"{file}: {error}") from error

    def _add(self, line: bytes) -> None:
        try:
            event = _decoder.decode(line)
        except msgspec.MsgspecError:
            self.broken += bool(line.strip())
            return
        if event.kind != "Event":
            self.broken += 1
            return
        if event.stage != "ResponseComplete":
            return
        self.events += 1
        self.since = min(self.since or event.request_received_timestamp, event.stage_timestamp)
        self.until = max(self.until or event.stage_timestamp, event.stage_timestamp)
        self._witnesses.executemany(
            "INSERT OR IGNORE INTO witness VALUES (?, ?, ?)", _witnesses_in(event)
        )

    def witnesses(self) -> Iterator[Witness]:
        """Yield what was witnessed, by the record's id."""
        yield from map(
            Witness._make,
            self._witnesses.execute("SELECT id, digest, audit_id FROM witness ORDER BY id, digest"),
        )

    def close(self) -> None:
        """Remove the temporary file."""
        self._witnesses.close()


def _witnesses_in(event: _Event) -> Iterator[Witness]:
    """Yield what the annotations of our webhooks say: `NAME/RECORD-ID: DIGEST`."""
    for key, digest in event.annotations.items():
        webhook, _, record = key.rpartition("/")
        if _OURS.fullmatch(webhook) and _is_uuid(record) and _DIGEST.fullmatch(digest):
            yield Witness(record, digest, event.audit_id)


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _unzipped(stream: BufferedReader) -> Iterable[bytes]:
    # By content: whoever rotates logs names them as they like.
    is_zipped = stream.peek(len(_GZIP)).startswith(_GZIP)
    return gzip.GzipFile(fileobj=stream) if is_zipped else stream


def read_logs(files: Iterable[Path]) -> AuditLog:
    """Return what *files*, in any order, witness."""
    log = AuditLog()
    for file in files:
        log.read(file)
    return log
