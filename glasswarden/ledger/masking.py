"""Masks: what a ledger keeps of a value that is nobody's business.

A mask is a keyed hash of the field's path and the value. Who holds the key can tell whether a live
value is the recorded one; who does not can neither read nor guess it, and equal values in different
fields do not look alike.
"""

import hmac
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.secret_files import create_once

_FILE: Final = re.compile(r"ledger-mask-(?P<id>[0-9a-z]+)\.key")
_FIRST: Final = "ledger-mask-1.key"
_SECRET_BYTES: Final = 32
_encoder = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class Masks:
    """The keys that values were ever masked with; the last of them masks."""

    keys: dict[str, bytes]

    def mask(self, path: str, value: object) -> str:
        """Return the mask of *value* at *path*, with the current key."""
        return self._mask(max(self.keys, key=_age), path, value)

    def matches(self, masked: str, path: str, value: object) -> bool | None:
        """Tell whether *masked* is *value* at *path*; none where its key is not at hand."""
        key_id = masked.partition(":")[0]
        if key_id not in self.keys:
            return None
        return hmac.compare_digest(self._mask(key_id, path, value), masked)

    def _mask(self, key_id: str, path: str, value: object) -> str:
        message = path.encode(errors="surrogatepass") + b"\0" + _encoder.encode(value)
        return f"{key_id}:{hmac.digest(self.keys[key_id], message, 'sha256').hex()}"


def _age(key_id: str) -> tuple[int, str]:
    """Return what sorts key ids by age: 9, then 10."""
    return len(key_id), key_id


def open_masks(folder: Path) -> Masks:
    """Return the masking keys in *folder*; raise `KeyUnusable` where there are none."""
    try:
        keys = {
            found["id"]: file.read_bytes()
            for file in sorted(folder.iterdir())
            if (found := _FILE.fullmatch(file.name))
        }
    except OSError as error:
        raise KeyUnusable(f"the keys in {folder} cannot be read: {error}") from error
    if not keys or not all(len(secret) == _SECRET_BYTES for secret in keys.values()):
        raise KeyUnusable(f"{folder} holds no {_FIRST} of {_SECRET_BYTES} bytes")
    return Masks(keys)


def new_masks(folder: Path) -> Masks:
    """Make a masking key in *folder* if there is none, and return what is there."""
    try:
        if not any(_FILE.fullmatch(file.name) for file in folder.glob("*")):
            create_once(folder / _FIRST, secrets.token_bytes(_SECRET_BYTES))
    except OSError as error:
        raise KeyUnusable(f"{folder / _FIRST}: {error}") from error
    return open_masks(folder)
