"""One row on its own: its bytes, its digest, its columns, its signature."""

from hashlib import sha256
from typing import Final

from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.fsck.findings import (
    ColumnMismatch,
    Edited,
    Finding,
    Forged,
    Reordered,
    Unreadable,
)
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Row
from glasswarden.ledger.question import Indexed, fields_of, indexed
from glasswarden.ledger.record import SIGNED, AnyEntry, Attempt, Record, read_entry

_PLACE: Final = frozenset({"writer", "sequence"})
_COMMON: Final = Indexed._fields.index("verdict")
"""How many columns there are that records of every kind and version fill."""


def faults_of(row: Row, trust: Trust) -> tuple[AnyEntry | None, list[Finding]]:
    """Return what *row* says, where it can be read, and what is wrong with it."""
    digest = sha256(row.body).hexdigest()
    try:
        entry = read_entry(row.body, row.digest)
    except RecordMalformed:
        return None, [_unreadable(row, is_edited=digest != row.digest)]
    if (
        isinstance(entry, Attempt)
        and digest == row.digest
        and not row.signature
        and row.matches(entry)
    ):
        return entry, []
    record = Record(entry, row.body, row.digest, row.signature)
    return entry, _named(row, record, trust, is_edited=digest != row.digest)


def _named(row: Row, record: Record, trust: Trust, *, is_edited: bool) -> list[Finding]:
    """Return what is wrong with *row*, the gravest only: the rest follows from it."""
    entry, place = record.entry, row.columns
    differing = _differing(row, record)
    if is_edited:
        columns = tuple(name for name in differing if name not in _PLACE)
        return [Edited(chain=place.writer, sequence=place.sequence, id=place.id, columns=columns)]
    if not _PLACE.isdisjoint(differing):
        belongs = f"{entry.writer}#{entry.sequence}"
        return [
            Reordered(chain=place.writer, sequence=place.sequence, id=entry.id, belongs=belongs)
        ]
    found: list[Finding] = []
    if differing:
        found.append(
            ColumnMismatch(
                chain=place.writer, sequence=place.sequence, id=entry.id, columns=differing
            )
        )
    if why := trust.objection(entry, row.digest, row.signature):
        found.append(Forged(chain=place.writer, sequence=place.sequence, id=entry.id, why=why))
    return found


def _differing(row: Row, record: Record) -> tuple[str, ...]:
    """Return the columns of *row* that do not say what its bytes do."""
    said = indexed(record.entry)
    # What a later version means by the rest is not known here.
    compared = _COMMON if record.is_later else len(said)
    names = [
        name
        for name, stored, expected in list(zip(said._fields, row.columns, said, strict=True))[
            :compared
        ]
        if stored != expected
    ]
    if not record.is_later:
        if row.fields != fields_of(record.entry):
            names.append("fields")
        if row.signature and not isinstance(record.entry, SIGNED):
            names.append("signature")
    return tuple(names)


def _unreadable(row: Row, *, is_edited: bool) -> Finding:
    kind = Edited if is_edited else Unreadable
    return kind(chain=row.columns.writer, sequence=row.columns.sequence, id=row.columns.id)
