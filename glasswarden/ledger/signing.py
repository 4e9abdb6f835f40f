"""Signatures on checkpoints: Ed25519 over a record's digest."""

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.secret_files import create_once

FILE: Final = "ledger-signing.pem"
"""The private key's name in the folder of keys."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Whoever holds this can begin and end chains."""

    private: Ed25519PrivateKey

    @property
    def public_key(self) -> str:
        """What everybody else verifies with: raw, base64."""
        return base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    def sign(self, digest: str) -> str:
        """Return the signature of the record with *digest*."""
        return base64.b64encode(self.private.sign(_message(digest))).decode()


def is_signed(digest: str, signature: str, public_key: str) -> bool:
    """Tell whether the holder of *public_key* signed the record with *digest*."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(signature, validate=True), _message(digest))
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def _message(digest: str) -> bytes:
    # Said to be what it is: the key cannot be made to sign something that means another thing.
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
