"""A ledger as lines of text, and back: the same bytes, whichever database they came from."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Final, TypeAlias

from glasswarden.ledger.errors import LedgerConflict, LedgerError, RecordMalformed
from glasswarden.ledger.fsck.trust import Trust, heard_in
from glasswarden.ledger.ledger import Ledger, LegalHold
from glasswarden.ledger.query import searchable
from glasswarden.ledger.record import Held, Record, read_record
from glasswarden.ledger.spool import line_of, parse_line

BATCH: Final = 1000
"""Records that are committed together."""


Batch: TypeAlias = dict[int, Record]
"""Records by the number of their line."""


class LineRejected(LedgerError):
    """A line is no record, or not the one that was exported; what came before it is stored."""


def _stop(error: LedgerError) -> None:
    raise error


def exported(
    ledger: Ledger,
    since: datetime | None = None,
    until: datetime | None = None,
    tickets: Collection[str] = (),
    left_out: Callable[[LedgerError], None] = _stop,
) -> Iterator[bytes]:
    """Yield the records of *ledger* as lines, by id: the same ledger, the same lines.

    A row that no line could give back exactly ends it, unless *left_out* takes it down.
    """
    wanted = frozenset(map(searchable, tickets))
    for row in ledger.oldest_first(since):
        if until is not None and row.columns.time >= until:
            continue
        if wanted and row.columns.ticket not in wanted:
            continue
        try:
            line = line_of(read_record(row.body, row.digest, row.signature))
        except RecordMalformed as error:
            place = f"{row.columns.writer}#{row.columns.sequence}"
            left_out(RecordMalformed(f"{place}: {error}"))
        else:
            yield line


def imported(
    ledger: Ledger, lines: Iterable[bytes], left_out: Callable[[LedgerError], None] = _stop
) -> Iterator[int]:
    """Store the records in *lines*; yield how many lines were read, after each commit.

    What is there already is passed over: an import that was interrupted is repeated. A line that
    is rejected ends it, once all before is stored, unless *left_out* takes it down.
    """
    batch: Batch = {}
    number = 0
    for number, line in enumerate(lines, start=1):
        try:
            batch[number] = _verified(line)
        except RecordMalformed as error:
            _store(ledger, batch, left_out)
            batch = {}
            left_out(LineRejected(f"line {number}: {error}"))
        if len(batch) == BATCH:
            _store(ledger, batch, left_out)
            yield number
            batch = {}
    _store(ledger, batch, left_out)
    yield number


def _verified(line: bytes) -> Record:
    record = parse_line(line)
    if hashlib.sha256(record.body).hexdigest() != record.digest:
        raise RecordMalformed(f"record {record.entry.id} does not have its digest")
    return record


def _store(ledger: Ledger, batch: Batch, left_out: Callable[[LedgerError], None]) -> None:
    # By place: ids follow the clock, which may have jumped back while a chain was written.
    placed = sorted(batch.items(), key=lambda each: (each[1].entry.writer, each[1].entry.sequence))
    try:
        ledger.append([record for _, record in placed])
    except LedgerConflict:
        for number, record in placed:  # one by one, to say which
            try:
                ledger.append([record])
            except LedgerConflict as error:
                left_out(LineRejected(f"line {number}: {error}"))
    held = (each.entry for each in batch.values() if isinstance(each.entry, Held))
    if tickets := {each.ticket for each in held}:
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
