"""Values as SQLite keeps them: ids as bytes, moments as microseconds, paths in one piece."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from glasswarden.ledger.question import Indexed, plain_columns
from glasswarden.ledger.record import Attempt

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_ID_BYTES: Final = 16
_ID_LETTERS: Final = 36
_EXPIRY: Final = Indexed._fields.index("grant_expires")

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
    """Return the moment that `microseconds_of` made a number; no number is refused."""
    try:
        return EPOCH + microseconds * _MICROSECOND
    except OverflowError:
        return _LATEST if microseconds > 0 else _EARLIEST


def joined(paths: Sequence[str]) -> bytes:
    """Return *paths* in one piece, each between separators."""
    text = BETWEEN_FIELDS.join(paths)
    return f"{BETWEEN_FIELDS}{text}{BETWEEN_FIELDS}".encode() if paths else b""


def separated(fields: bytes) -> tuple[str, ...]:
    """Return the paths that `joined` put together, sorted; what it did not is one odd path."""
    text = fields.decode(errors="replace")
    paths = tuple(text[1:-1].split(BETWEEN_FIELDS)) if text else ()
    return tuple(sorted(paths)) if joined(paths) == fields else (text,)


def any_text(stored: bytes) -> str:
    """Return *stored* as text, whatever it is: SQLite does not look at what it is told is text.

    What is no UTF-8 becomes a text that no record has, and `raw` makes of it what it was.
    """
    return stored.decode(errors="surrogateescape")


def raw(text: str) -> bytes:
    """Return the bytes that `any_text` made *text* of."""
    return text.encode(errors="surrogateescape")


def is_text(text: str) -> bool:
    """Tell whether what `any_text` returned was UTF-8."""
    return raw(text) == text.encode(errors="replace")


def stored(columns: Indexed) -> tuple[object, ...]:
    """Return *columns* as they are kept."""
    expires = columns.grant_expires
    return (
        bytes_of(columns.id),
        microseconds_of(columns.time),
        *columns[2:-1],
        None if expires is None else microseconds_of(expires),
    )


def restored(values: Sequence[Any]) -> Indexed:
    """Return the columns that `stored` made *values* of, or somebody who changed them since."""
    beginning = (_text_of(values[0]), moment_of(values[1]))
    return Indexed._make((*beginning, *values[2:_EXPIRY], _expiry_of(values[_EXPIRY])))


def is_kept(attempt: Attempt, values: Sequence[Any]) -> bool:
    """Tell whether `restored` makes the columns of *attempt* of *values*, without making them.

    Not whether `stored` makes *values* of them: several texts are one id to it, and others none.
    """
    return (
        values[2:_EXPIRY] == plain_columns(attempt)
        and _is_text_of(values[0], attempt.id)
        and moment_of(values[1]) == attempt.time
        and _expiry_of(values[_EXPIRY]) == attempt.grant_expires
    )


def _expiry_of(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else moment_of(microseconds)


def _text_of(record_id: bytes) -> str:
    # Several times faster than `UUID` would say the same.
    text = record_id.hex()
    if len(record_id) != _ID_BYTES:
        return text
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _is_text_of(record_id: bytes, text: str) -> bool:
    """Tell whether `_text_of` makes *text* of a whole id: its digits, and dashes in four places."""
    return (
        record_id.hex() == text.replace("-", "")
        and text[8:24:5] == "----"
        and len(text) == _ID_LETTERS
    )
