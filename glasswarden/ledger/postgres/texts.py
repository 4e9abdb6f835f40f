"""A column of text on its way to the server, packed in one go.

psycopg asks each item of a list what it is; for two dozen short lists at every commit that took
longer than all the rest.
"""

import struct
from typing import Final

from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.postgres import types
from psycopg.pq import Format

_TEXT: Final = types["text"]
_HEAD: Final = struct.Struct("!5i")
_LENGTH: Final = struct.Struct("!i")


class Texts(list[str]):
    """Texts, at least one, that become a `text[]`."""


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = _TEXT.array_oid

    def dump(self, obj: Texts) -> bytes:
        # One dimension, no nulls, the items' type, how many, counted from 1.
        parts = [_HEAD.pack(1, 0, _TEXT.oid, len(obj), 1)]
        for text in obj:
            encoded = text.encode()
            parts += (_LENGTH.pack(len(encoded)), encoded)
        return b"".join(parts)


def register(connection: Connection[object]) -> None:
    """Teach *connection* to send `Texts`."""
    connection.adapters.register_dumper(Texts, _TextsDumper)
