"""Export of a ledger to lines of text, and import: the same bytes from either database."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Final, TypeAlias

from glasswarden.ledger.errors import LedgerConflict, LedgerError, RecordMalformed
from glasswarden.ledger.fsck.trust import Trust, collect_testimony
from glasswarden.ledger.ledger import Ledger, LegalHold
from glasswarden.ledger.query import searchable_form
from glasswarden.ledger.record import Held, Record, read_record
from glasswarden.ledger.spool import line_of, parse_line

BATCH: Final = 1000
"""Records that are committed together."""


Batch: TypeAlias = dict[int, Record]
"""Records by the number of their line."""


class LineRejected(LedgerError):
    """A line is not a record, or was changed since its export; the lines before it are stored."""


def _stop(error: LedgerError) -> None:
    raise error


def export_lines(
    ledger: Ledger,
    since: datetime | None = None,
    until: datetime | None = None,
    tickets: Collection[str] = (),
    left_out: Callable[[LedgerError], None] = _stop,
) -> Iterator[bytes]:
    """Yield the records of *ledger* as lines, by id: the same ledger, the same lines.

    A row that does not fit a line ends the export, unless *left_out* takes the error.
    """
    wanted = frozenset(map(searchable_form, tickets))
    for row in ledger.rows_since(since):
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


def import_lines(
    ledger: Ledger, lines: Iterable[bytes], left_out: Callable[[LedgerError], None] = _stop
) -> Iterator[int]:
    """Store the records in *lines*; yield how many lines were read, after each commit.

    Existing records are skipped, so that an interrupted import can be repeated. A rejected line
    ends the import, once all before it is stored, unless *left_out* takes the error.
    """
    batch: Batch = {}
    number = 0
    for number, line in enumerate(lines, start=1):
        try:
            batch[number] = _parse_verified(line)
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


def _parse_verified(line: bytes) -> Record:
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
        for number, record in placed:  # one by one, to report which
            try:
                ledger.append([record])
            except LedgerConflict as error:
                left_out(LineRejected(f"line {number}: {error}"))
    held = (each.entry for each in batch.values() if isinstance(each.entry, Held))
    if tickets := {each.ticket for each in held}:
        _restore_holds(ledger, tickets)


def _restore_holds(ledger: Ledger, tickets: Collection[str]) -> None:
    """Place or release the holds on *tickets* as was last decided in all records.

    An old export that is imported again contains old decisions.
    """
    last = collect_testimony(ledger.signed_rows(), Trust()).holds
    for held in (last[ticket] for ticket in sorted(tickets) if ticket in last):
        if held.in_force:
            ledger.hold(LegalHold(held.ticket, held.time, held.by, held.why))
        else:
            ledger.release(held.ticket)
