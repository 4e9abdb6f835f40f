"""One record: an attempt to write, and the place of its evidence in a hash chain.

The canonical bytes of a record are its JSON with the keys in byte order, no white space, UTF-8,
and without `digest`. The digest is SHA-256 of those bytes in hexadecimal. `prev` stands inside
them, so each digest vouches for everything that its writer recorded before.
"""

import hashlib
import uuid
from datetime import datetime
from typing import Any

import msgspec

VERSION = 1

GENESIS = "0" * 64
"""`prev` of a chain's first record."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, before it has a place in a chain."""

    id: str
    cluster: str
    time: datetime
    verdict: str
    clause: str
    mode: str
    policy: str
    actor: str
    groups: tuple[str, ...]
    manager: str
    operation: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    object_uid: str
    subresource: str
    engine: str
    app: str
    app_namespace: str
    changes: tuple[dict[str, Any], ...]
    unlisted: int = 0
    """How many changes there were beyond those in `changes`."""


class Record(Entry, frozen=True, kw_only=True):
    """An entry with its place: which writer's chain, the how-manieth, after which digest."""

    record_version: int = VERSION
    writer: str
    sequence: int
    prev: str
    digest: str


_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Record)


def new_id(now: datetime, random: bytes) -> str:
    """Return an identifier that sorts by time: a UUID of version 7 (RFC 9562, section 5.7)."""
    milliseconds = int(now.timestamp() * 1000)
    bits = milliseconds << 80 | int.from_bytes(random[:10], "big")
    bits = bits & ~(0xF << 76) | 0x7 << 76  # version
    bits = bits & ~(0x3 << 62) | 0x2 << 62  # variant
    return str(uuid.UUID(int=bits))


def canonical(record: Record) -> bytes:
    """Return the bytes that the record's digest is taken of."""
    fields = msgspec.structs.asdict(record)
    del fields["digest"]
    return _encoder.encode(fields)


def linked(entry: Entry, writer: str, sequence: int, prev: str) -> Record:
    """Return *entry* in its place, with the digest that seals it."""
    fields = msgspec.structs.asdict(entry)
    open_record = Record(**fields, writer=writer, sequence=sequence, prev=prev, digest="")
    digest = hashlib.sha256(canonical(open_record)).hexdigest()
    return msgspec.structs.replace(open_record, digest=digest)


def encode(record: Record) -> bytes:
    """Return the record as it is stored."""
    return _encoder.encode(record)


def decode(stored: bytes) -> Record:
    """Return the record that :func:`encode` stored."""
    return _decoder.decode(stored)
