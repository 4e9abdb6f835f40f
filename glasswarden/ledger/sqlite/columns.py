"""A record as columns, and back."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from glasswarden.ledger.bodies import Bodies
from glasswarden.ledger.question import Indexed, fields_of, indexed
from glasswarden.ledger.record import Attempt, Record
from glasswarden.ledger.sqlite.values import is_kept, joined, restored, separated, stored

_NAMES: Final = (*Indexed._fields, "fields", "body", "digest", "signature")
SELECTED: Final = ", ".join(f'"{name}"' for name in _NAMES)
_MARKS: Final = ", ".join("?" * len(_NAMES))
INSERT: Final = f"INSERT INTO record ({SELECTED}) VALUES ({_MARKS})"  # noqa: S608 - names of columns
_BESIDE: Final = len(Indexed._fields)
"""Where the columns end that are `Indexed`."""


class SqliteRow(NamedTuple):
    """A record as it was fetched; its columns are restored when somebody looks at them.

    That is seldom: fsck only wants to know whether they are those of the record.
    """

    cells: Sequence[Any]
    body: bytes
    digest: str
    signature: str

    @property
    def columns(self) -> Indexed:
        """What it can be found by, but for `fields`."""
        return restored(self.cells)

    @property
    def fields(self) -> tuple[str, ...]:
        """The paths it can be found by, sorted."""
        return separated(self.cells[_BESIDE])

    def matches(self, attempt: Attempt) -> bool:
        """Tell whether `columns` and `fields` are those of *attempt*."""
        paths = fields_of(attempt)
        # Who stored them before they were sorted joined the same paths in another order.
        are_fields = self.cells[_BESIDE] == joined(paths) or self.fields == paths
        return are_fields and is_kept(attempt, self.cells)


def cells_of(record: Record, bodies: Bodies) -> tuple[object, ...]:
    """Return *record* as the values of `INSERT`."""
    return (
        *stored(indexed(record.entry)),
        joined(fields_of(record.entry)),
        bodies.pack(record.body),
        bytes.fromhex(record.digest),
        record.signature,
    )


def row_of(found: Sequence[Any], bodies: Bodies) -> SqliteRow:
    """Return what `SELECTED` found."""
    _, body, digest, signature = found[_BESIDE:]
    return SqliteRow(found, bodies.unpack(body), digest.hex(), signature)
