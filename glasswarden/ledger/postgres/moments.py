"""Moments as the server may hold them: infinite, before our calendar, or after it.

No record has such a time, but somebody who edits a cell can write one, and the rest of the row must
still be read.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from psycopg import Cursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

_BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""From where the server counts microseconds."""

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


class _AnyMoment(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> datetime:
        microseconds = int.from_bytes(bytes(data), signed=True)
        try:
            return _BEGINNING + timedelta(microseconds=microseconds)
        except OverflowError:
            return _LATEST if microseconds > 0 else _EARLIEST


def accept_any(cursor: Cursor[Any]) -> None:
    """Have *cursor* take whatever moment it is given for the nearest one that there is."""
    cursor.adapters.register_loader("timestamptz", _AnyMoment)
