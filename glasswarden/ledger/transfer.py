"""A ledger as lines of text, and back: the same bytes, whichever database they came from."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Final

from glasswarden.ledger.errors import LedgerConflict, LedgerError, RecordMalformed
from glasswarden.ledger.fsck.testimony import heard_in
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger, LegalHold
from glasswarden.ledger.lines import line_of, parse_line
from glasswarden.ledger.question import searchable
from glasswarden.ledger.record import Held, Record, read_record

BATCH: Final = 1000
"""Records that are committed together."""


class LineRejected(LedgerError):
    """A line is no record, or not the one that was exported; what came before it is stored."""


def exported(
    ledger: Ledger,
    since: datetime | None = None,
    until: datetime | None = None,
    tickets: Collection[str] = (),
) -> Iterator[bytes]:
    """Yield the records of *ledger* as lines, by id: the same ledger, the same lines."""
    wanted = frozenset(map(searchable, tickets))
    for row in ledger.oldest_first(since):
        if until is not None and row.columns.time >= until:
            continue
        if not wanted or row.columns.ticket in wanted:
            yield line_of(read_record(row.body, row.digest, row.signature))


def imported(ledger: Ledger, lines: Iterable[bytes]) -> Iterator[int]:
    """Store the records in *lines*; yield how many are, after each commit.

    What is there already is passed over: an import that was interrupted is repeated.
    """
    batch: list[Record] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        try:
            batch.append(_verified(line))
        except RecordMalformed as error:
            _store(ledger, batch)
            raise LineRejected(f"line {number}: {error}") from error
        if len(batch) == BATCH:
            _store(ledger, batch)
            yield number
            batch = []
    _store(ledger, batch)
    yield number


def _verified(line: bytes) -> Record:
    record = parse_line(line)
    if hashlib.sha256(record.body).hexdigest() != record.digest:
        raise RecordMalformed(f"record {record.entry.id} does not have its digest")
    return record


def _store(ledger: Ledger, batch: list[Record]) -> None:
    # By place: ids follow the clock, which may have jumped back while a chain was written.
    records = sorted(batch, key=lambda record: (record.entry.writer, record.entry.sequence))
    try:
        ledger.append(records)
    except LedgerConflict as error:
        raise LineRejected(str(error)) from error
    if tickets := {each.entry.ticket for each in batch if isinstance(each.entry, Held)}:
        _hold_again(ledger, tickets)


def _hold_again(ledger: Ledger, tickets: Collection[str]) -> None:
    """Put or lift the holds on *tickets* as was last decided, by all that is recorded by now.

    An old export that comes in again has old decisions in it.
    """
    last = heard_in(ledger.signed(), Trust()).holds
    for held in (last[ticket] for ticket in sorted(tickets) if ticket in last):
        if held.in_force:
            ledger.hold(LegalHold(held.ticket, held.time, held.by, held.why))
        else:
            ledger.release(held.ticket)
