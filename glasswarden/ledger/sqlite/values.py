"""Values as SQLite keeps them: ids as bytes, moments as microseconds, paths in one piece."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from glasswarden.ledger.question import Indexed

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

BETWEEN_FIELDS: Final = "\0"
"""No searchable text has it, so a path can be looked for with its ends."""


def bytes_of(record_id: str) -> bytes:
    """Return an id in 16 bytes, which sort as its text does."""
    return bytes.fromhex(record_id.replace("-", ""))


def first_id(moment: datetime) -> bytes:
    """Return the least id that a record of *moment* can have: ids begin with milliseconds."""
    return (microseconds_of(moment) // 1000).to_bytes(6, "big").ljust(16, b"\0")


def microseconds_of(moment: datetime) -> int:
    """Return *moment* as a number."""
    return (moment - EPOCH) // _MICROSECOND


def moment_of(microseconds: int) -> datetime:
    """Return the moment that `microseconds_of` made a number."""
    return EPOCH + microseconds * _MICROSECOND


def joined(paths: Iterable[str]) -> bytes:
    """Return *paths* in one piece, each between separators."""
    text = BETWEEN_FIELDS.join(paths)
    return f"{BETWEEN_FIELDS}{text}{BETWEEN_FIELDS}".encode() if text else b""


def separated(fields: bytes) -> tuple[str, ...]:
    """Return the paths that `joined` put together, sorted."""
    text = fields.decode(errors="replace")
    if len(text) < len("\0x\0") or not text[0] == text[-1] == BETWEEN_FIELDS:
        return ()  # nothing is found by a path without its ends
    return tuple(sorted(text[1:-1].split(BETWEEN_FIELDS)))


def stored(columns: Indexed) -> tuple[object, ...]:
    """Return *columns* as they are kept."""
    expires = columns.grant_expires
    return (
        bytes_of(columns.id),
        microseconds_of(columns.time),
        *columns[2:-1],
        None if expires is None else microseconds_of(expires),
    )


def restored(columns: Sequence[Any]) -> Indexed:
    """Return the columns that `stored` made values of."""
    name, expires = columns[0].hex(), columns[-1]
    return Indexed._make(
        (
            f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}",
            moment_of(columns[1]),
            *columns[2:-1],
            None if expires is None else moment_of(expires),
        )
    )
