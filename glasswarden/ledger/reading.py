"""Rows as records, for whoever must show what cannot be read too."""

from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.ledger import Row
from glasswarden.ledger.record import FORMAT, Damaged, Record, read_record


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
