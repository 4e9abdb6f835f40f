"""One record: an event, and its place in the hash chain of the process that recorded it.

A record is stored as bytes: JSON with the keys in byte order, no white space, UTF-8, fields at
their default omitted. Its digest is the SHA-256 of exactly these bytes, in hexadecimal. The bytes
include `prev`, the digest of the previous record, so each digest covers everything that its writer
recorded before. Verification hashes the stored bytes and never encodes a record again: it does not
depend on the version of the program.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from glasswarden.ledger.errors import RecordMalformed

FORMAT: Final = 1
"""Incremented when a field changes its meaning; not when fields are added."""

GENESIS: Final = "0" * 64
"""`prev` of a chain's first record."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of every record."""

    format: int
    id: str
    """A UUID of version 7: sorts by time."""

    time: datetime
    cluster: str
    writer: str = ""
    """The process that recorded it; one process, one chain."""

    sequence: int = 0
    """Its place in that chain, from 1."""

    prev: str = ""
    """The digest of the record at the place before."""


class Cut(msgspec.Struct, frozen=True):
    """What is stored of a value that is too large: enough to compare it."""

    length: int
    """Bytes of its canonical JSON."""

    sha256: str


class ChangedField(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One field of a write.

    A value is stored plainly, masked or cut; without any of these there was no value.
    """

    path: str
    manager: str = ""
    old: Any = msgspec.UNSET
    new: Any = msgspec.UNSET
    old_masked: str = ""
    """`KEY-ID:HMAC` of a sensitive value: equal values can still be recognised."""

    new_masked: str = ""
    old_cut: Cut | None = None
    new_cut: Cut | None = None


class Attempt(Entry, frozen=True, kw_only=True, tag_field="type", tag="attempt"):
    """A write as it was decided. Whether it was stored afterwards is not known here."""

    verdict: str
    clause: str
    mode: str = ""
    policy: str = ""
    """The digest of the rules that decided it."""

    actor: str = ""
    actor_uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}
    """Further data of the authenticator: a credential's id, the pod that a token belongs to."""

    manager: str = ""
    manager_operation: str = ""
    """`Apply` or `Update`."""

    inferred_verb: str = ""
    """The command of the person, inferred from the manager: `edit`, `scale`. A hint."""

    operation: str = ""
    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    object_uid: str = ""
    old_resource_version: str = ""
    new_resource_version: str = ""
    """As the write proposed it; what the API server assigns is not known yet."""

    generation: int = 0
    engine: str = ""
    app: str = ""
    app_kind: str = ""
    app_namespace: str = ""
    changes: tuple[ChangedField, ...] = ()
    unlisted: int = 0
    """How many changes there were beyond those in `changes`."""

    fingerprint: str = ""
    """Equal for the attempts of one write: the API server may send several requests for it."""

    grant: str = ""
    grant_act: str = ""
    """What the write did with the grant: requested, approved, issued, used, extended, closed."""

    grant_rule: str = ""
    grant_expires: datetime | None = None
    grantee: str = ""
    """Who received the grant; the actor may be an approver, or share the grant."""

    approver: str = ""
    ticket: str = ""
    reason: str = ""
    outcome: str = ""


class Head(msgspec.Struct, frozen=True):
    """The end of a chain at some moment."""

    writer: str
    sequence: int
    digest: str


class Opened(Entry, frozen=True, kw_only=True, tag_field="type", tag="opened"):
    """The beginning of a chain. Signed.

    It names the ends of the other chains that moved since they were last witnessed: none of them
    can lose its tail, or disappear, unnoticed.
    """

    program: str
    """Name and version of the program that writes."""

    public_key: str
    """The key of the signature: Ed25519, raw, base64."""

    heads: tuple[Head, ...] = ()


class Closed(Entry, frozen=True, kw_only=True, tag_field="type", tag="closed"):
    """The regular end of a chain. Signed. A process that was killed leaves no such record."""

    public_key: str


class Gap(Entry, frozen=True, kw_only=True, tag_field="type", tag="gap"):
    """Writes that were answered while nothing could be recorded."""

    since: datetime
    until: datetime
    count: int
    """How many were allowed, according to the policy."""

    why: str
    refused: int = 0
    """How many were denied."""


class Kept(msgspec.Struct, frozen=True):
    """A record that was kept where others around it were pruned."""

    sequence: int
    digest: str


class Tombstone(Entry, frozen=True, kw_only=True, tag_field="type", tag="tombstone"):
    """The beginning of a chain was pruned. Signed, so that the rest can still be verified."""

    public_key: str
    chain: str
    """The writer whose chain was cut."""

    through: int
    """The last place that was cut."""

    digest: str
    """The digest at that place: `prev` of what is left."""

    count: int
    """How many records were removed."""

    sum: str
    """SHA-256 over the digests of the removed records, in order: verifies a copy of them."""

    kept: tuple[Kept, ...] = ()
    """The records that were kept, for a legal hold or as a tombstone in force."""

    before: datetime | None = None
    """Everything that was removed is older than this."""


class Held(Entry, frozen=True, kw_only=True, tag_field="type", tag="held"):
    """A legal hold on a ticket's records was placed or released. Signed."""

    public_key: str
    ticket: str
    by: str
    why: str
    in_force: bool = True
    """Whether the records must be kept from now on."""


class Foreign(Entry, frozen=True, kw_only=True):
    """A kind of record that a later version wrote: only the fields of every record are read."""

    type: str


class Damaged(Entry, frozen=True, kw_only=True):
    """A record that cannot be read; its fields are those of the database's columns."""

    why: str


AnyEntry: TypeAlias = Attempt | Opened | Closed | Gap | Tombstone | Held | Foreign | Damaged
SIGNED: Final = (Opened, Closed, Tombstone, Held)


@dataclass(frozen=True, slots=True)
class Record:
    """An entry in its place, sealed: as it is stored, exported and verified."""

    entry: AnyEntry
    body: bytes
    digest: str
    signature: str = ""
    """Ed25519 over the digest, base64; of the records in `SIGNED` only."""

    @property
    def is_later(self) -> bool:
        """Whether a later version of the program wrote it, with a meaning unknown here."""
        return is_later(self.entry)


def is_later(entry: AnyEntry) -> bool:
    """Return whether a later version of the program wrote *entry*."""
    return entry.format > FORMAT or isinstance(entry, Foreign)


_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Attempt | Opened | Closed | Gap | Tombstone | Held)
_foreign_decoder = msgspec.json.Decoder(Foreign)


def new_id(now: datetime, random: bytes) -> str:
    """Return an identifier that sorts by time: a UUID of version 7 (RFC 9562, section 5.7)."""
    milliseconds = int(now.timestamp() * 1000)
    bits = milliseconds << 80 | int.from_bytes(random[:10], "big")
    bits = bits & ~(0xF << 76) | 0x7 << 76  # version
    bits = bits & ~(0x3 << 62) | 0x2 << 62  # variant
    digits = f"{bits:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def seal(entry: AnyEntry, writer: str, sequence: int, prev: str) -> Record:
    """Return *entry* in its place, with the digest that seals it."""
    placed = msgspec.structs.replace(entry, writer=writer, sequence=sequence, prev=prev)
    body = _encoder.encode(placed)
    return Record(placed, body, hashlib.sha256(body).hexdigest())


def read_record(body: bytes, digest: str, signature: str = "") -> Record:
    """Return the stored record. `fsck` verifies that the digest is that of *body*."""
    return Record(read_entry(body, digest), body, digest, signature)


def read_entry(body: bytes, digest: str) -> AnyEntry:
    """Return the entry in *body*, or raise `RecordMalformed`, which names *digest*."""
    try:
        return _decode_entry(body)
    except msgspec.MsgspecError as error:
        raise RecordMalformed(f"the record with digest {digest} cannot be read: {error}") from error


def _decode_entry(body: bytes) -> AnyEntry:
    try:
        entry: AnyEntry = _decoder.decode(body)
    except msgspec.ValidationError:
        foreign = _foreign_decoder.decode(body)
        if foreign.format <= FORMAT and foreign.type in _TYPES:
            raise
        return foreign
    return entry


_TYPES: Final = frozenset(
    str(kind.__struct_config__.tag) for kind in (Attempt, Opened, Closed, Gap, Tombstone, Held)
)
