"""The hash chain of one writer, with signed checkpoints at its beginning and end.

Each record names the digest of the one before. A checkpoint carries an Ed25519 signature over its
digest. The signing key is created once, in a file that only its owner can read. Maintenance
commands (`prune`, `hold`, `release`) write a chain too, so that no record is removed or kept
without a signed entry that names who did it.
"""

import base64
import binascii
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from glasswarden import __version__
from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.folders import make_folder, sync_folder
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import (
    FORMAT,
    GENESIS,
    SIGNED,
    AnyEntry,
    Closed,
    Head,
    Held,
    Opened,
    Record,
    Tombstone,
    new_id,
    seal,
)


def create_once(path: Path, content: bytes) -> None:
    """Write *content* to *path* unless the file exists: of two processes the first wins."""
    make_folder(path.parent)
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
        sync_folder(path.parent)


FILE: Final = "ledger-signing.pem"
"""The private key's name in the folder of keys."""


@dataclass(frozen=True, slots=True)
class Signer:
    """The private key that begins and ends chains."""

    private: Ed25519PrivateKey

    @property
    def public_key(self) -> str:
        """The public key for verification: raw, base64."""
        return base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    def sign(self, digest: str) -> str:
        """Return the signature of the record with *digest*."""
        return base64.b64encode(self.private.sign(_message_of(digest))).decode()


def is_signed(digest: str, signature: str, public_key: str) -> bool:
    """Return whether the holder of *public_key* signed the record with *digest*."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(signature, validate=True), _message_of(digest))
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def _message_of(digest: str) -> bytes:
    # With a prefix: a signature cannot be reused for a message of another kind.
    return f"glasswarden.io/v1 record {digest}".encode()


def open_signer(folder: Path) -> Signer:
    """Return the key in *folder*; raise `KeyUnusable` where there is none."""
    try:
        key = load_pem_private_key((folder / FILE).read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyUnusable(f"{folder / FILE}: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusable(f"{folder / FILE}: not an Ed25519 key")
    return Signer(key)


def make_signer(folder: Path) -> None:
    """Make a key in *folder*, unless there is one."""
    pem = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    try:
        create_once(folder / FILE, pem)
    except OSError as error:
        raise KeyUnusable(f"{folder / FILE}: {error}") from error


class Chain:
    """The open end of a chain. Each process has its own: writers never wait for each other."""

    def __init__(self, writer: str, signer: Signer) -> None:
        self.writer = writer
        self._signer = signer
        self._head = Head(writer, 0, GENESIS)

    @property
    def head(self) -> Head:
        """The end of the chain."""
        return self._head

    def link(self, entries: Iterable[AnyEntry]) -> list[Record]:
        """Return *entries* as the chain's next records, without moving its end."""
        sequence, digest = self._head.sequence, self._head.digest
        records = []
        for entry in entries:
            sequence += 1
            record = seal(entry, self.writer, sequence, digest)
            if isinstance(entry, SIGNED):
                record = replace(record, signature=self._signer.sign(record.digest))
            digest = record.digest
            records.append(record)
        return records

    def advance(self, records: list[Record]) -> None:
        """Move the end past *records*, once they are stored: a failed append leaves no hole."""
        if records:
            last = records[-1]
            self._head = Head(self.writer, last.entry.sequence, last.digest)


def new_opening(
    cluster: str, heads: Sequence[Head], signer: Signer, now: datetime, random: bytes
) -> Opened:
    """Return the entry that a chain begins with; *heads* are the ends that it witnesses."""
    return Opened(
        format=FORMAT,
        id=new_id(now, random),
        time=now,
        cluster=cluster,
        program=f"glasswarden {__version__}",
        public_key=signer.public_key,
        heads=tuple(heads),
    )


def new_closing(cluster: str, signer: Signer, now: datetime, random: bytes) -> Closed:
    """Return the entry that a chain ends with."""
    return Closed(
        format=FORMAT,
        id=new_id(now, random),
        time=now,
        cluster=cluster,
        public_key=signer.public_key,
    )


Act = TypeVar("Act", Tombstone, Held)


class MaintenanceWriter:
    """Writes the signed records of one maintenance command. Its chain begins with the first."""

    def __init__(self, ledger: Ledger, writer: str, signer: Signer, now: datetime) -> None:
        self._ledger = ledger
        self._chain = Chain(writer, signer)
        self._signer = signer
        self._now = now

    def sign_act(self, kind: type[Act], **fields: Any) -> Record:  # noqa: ANN401 - those of *kind*
        """Return the signed record of an act, in its place, not stored yet."""
        if self._chain.head.sequence == 0:
            heads = self._ledger.unwitnessed_heads()
            self.store(new_opening("", heads, self._signer, self._now, os.urandom(10)))
        act = kind(
            format=FORMAT,
            id=new_id(self._now, os.urandom(10)),
            time=self._now,
            cluster="",
            public_key=self._signer.public_key,
            **fields,
        )
        [record] = self._chain.link([act])
        return record

    def advance(self, record: Record) -> None:
        """Continue after *record*, which the caller stored."""
        self._chain.advance([record])

    def store(self, entry: AnyEntry) -> None:
        """Store *entry* on its own."""
        records = self._chain.link([entry])
        self._ledger.append(records)
        self._chain.advance(records)

    def end(self) -> None:
        """End the chain, if it was begun."""
        if self._chain.head.sequence:
            self.store(new_closing("", self._signer, self._now, os.urandom(10)))


@contextmanager
def open_maintenance(
    ledger: Ledger, writer: str, signer: Signer, now: datetime
) -> Iterator[MaintenanceWriter]:
    """Yield the writer for one command; if the command fails, its chain stays open."""
    maintenance = MaintenanceWriter(ledger, writer, signer, now)
    yield maintenance
    maintenance.end()
