"""A record as columns, and back."""

from collections.abc import Sequence
from typing import Any, Final

from glasswarden.ledger.ledger import Row
from glasswarden.ledger.postgres.fields import array_of, keys_of, numbers_of
from glasswarden.ledger.question import Indexed, fields_of, indexed
from glasswarden.ledger.record import Record

_TYPES: Final = {
    "id": "uuid",
    "time": "timestamptz",
    "sequence": "int8",
    "grant_expires": "timestamptz",
}
NAMES: Final = (
    *Indexed._fields, "body", "digest", "signature", "fields", "field_keys",
)  # fmt: skip

_COLUMNS: Final = ", ".join(f'"{name}"' for name in NAMES)
# An array of arrays would need all of one length: each comes as text.
_ARRAYS: Final = ", ".join(
    f"%({name})b::{ {'body': 'bytea', 'digest': 'bytea'}.get(name, _TYPES.get(name, 'text')) }[]"
    for name in NAMES
)
INSERT: Final = f"""
    INSERT INTO glasswarden.record ({_COLUMNS})
    SELECT {_COLUMNS.removesuffix('"fields", "field_keys"')} fields::text[], field_keys::int4[]
    FROM unnest({_ARRAYS}) AS batch ({_COLUMNS})
"""  # noqa: S608 - names of columns
SELECTED: Final = _COLUMNS


def batch_of(records: Sequence[Record]) -> dict[str, list[Any]]:
    """Return *records* as the values of `INSERT`: a list a column."""
    rows = [indexed(record.entry) for record in records]
    batch: dict[str, list[Any]] = dict(
        zip(Indexed._fields, map(list, zip(*rows, strict=True)), strict=True)
    )
    paths = [tuple(sorted(fields_of(record.entry))) for record in records]
    return batch | {
        "body": [record.body for record in records],
        "digest": [bytes.fromhex(record.digest) for record in records],
        "signature": [record.signature for record in records],
        "fields": [array_of(each) for each in paths],
        "field_keys": [numbers_of(each) for each in paths],
    }


def row_of(found: Sequence[Any]) -> Row:
    """Return what `SELECTED` found."""
    id_, *columns, body, digest, signature, fields, keys = found
    paths = tuple(sorted(fields))
    # Without their numbers paths are no use: nothing is found by them.
    known = paths if sorted(keys) == keys_of(paths) else ()
    return Row(Indexed(str(id_), *columns), body, digest.hex(), signature, known)
