"""A record as columns, and back."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from glasswarden.ledger.bodies import Bodies
from glasswarden.ledger.postgres.fields import array_of, keys_of, numbers_of
from glasswarden.ledger.postgres.texts import Texts
from glasswarden.ledger.question import Indexed, fields_of, indexed
from glasswarden.ledger.record import Attempt, Record

_TYPES: Final = {
    "id": "uuid",
    "time": "timestamptz",
    "sequence": "int8",
    "grant_expires": "timestamptz",
    "body": "bytea",
    "digest": "bytea",
}
"""What is not text. Ids are sent as text all the same: the server reads them fast."""

_NAMES: Final = (*Indexed._fields, "body", "digest", "signature", "fields", "field_keys")
_COLUMNS: Final = ", ".join(f'"{name}"' for name in _NAMES)
_ARRAYS: Final = ", ".join(f"%({name})b::{_TYPES.get(name, 'text')}[]" for name in _NAMES)

# Arrays in an array would have to be of one length, so each of them comes as a text.
INSERT: Final = f"""
    INSERT INTO glasswarden.record ({_COLUMNS})
    SELECT {_COLUMNS.removesuffix('"fields", "field_keys"')} fields::text[], field_keys::int4[]
    FROM unnest({_ARRAYS}) AS batch ({_COLUMNS})
"""  # noqa: S608 - names of columns
BY_WRITER: Final = """
    hashtextextended(writer, 0) = hashtextextended(%(writer)s, 0) AND writer = %(writer)s
"""
"""The condition that finds the records of one chain by their index."""

SELECTED: Final = _COLUMNS
_ODD: Final = ("\0",)  # no searchable text has it


class PostgresRow(NamedTuple):
    """A record as it was fetched."""

    columns: Indexed
    body: bytes
    digest: str
    signature: str
    fields: tuple[str, ...]

    def matches(self, attempt: Attempt) -> bool:
        """Tell whether `columns` and `fields` are those of *attempt*."""
        return self.columns == indexed(attempt) and self.fields == fields_of(attempt)


def batch_of(records: Sequence[Record], bodies: Bodies) -> dict[str, list[Any]]:
    """Return *records* as the values of `INSERT`: a list a column."""
    rows = [indexed(record.entry) for record in records]
    batch: dict[str, list[Any]] = {
        name: Texts(values) if name == "id" or name not in _TYPES else list(values)
        for name, values in zip(Indexed._fields, zip(*rows, strict=True), strict=True)
    }
    paths = [fields_of(record.entry) for record in records]
    return batch | {
        "body": [bodies.pack(record.body) for record in records],
        "digest": [bytes.fromhex(record.digest) for record in records],
        "signature": Texts(record.signature for record in records),
        "fields": Texts(map(array_of, paths)),
        "field_keys": Texts(map(numbers_of, paths)),
    }


def row_of(found: Sequence[Any], bodies: Bodies) -> PostgresRow:
    """Return what `SELECTED` found."""
    id_, *columns, body, digest, signature, fields, keys = found
    found_columns = Indexed(str(id_), *columns)
    paths = _paths_of(fields, keys)
    return PostgresRow(found_columns, bodies.unpack(body), digest.hex(), signature, paths)


def _paths_of(fields: list[Any], keys: list[Any]) -> tuple[str, ...]:
    """Return the paths in *fields*, sorted; what we did not write is one odd path."""
    try:
        paths = tuple(sorted(fields))
        # Without their numbers paths are no use: nothing is found by them.
        return paths if sorted(keys) == keys_of(paths) else _ODD
    except TypeError:  # nulls, or arrays in the array
        return _ODD
