"""Masks: what the ledger stores instead of a sensitive value.

A mask is a keyed hash of the field's path and the value. With the key, a live value can be compared
with the recorded one; without it, the value can neither be read nor guessed, and equal values in
different fields have different masks.
"""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from glasswarden.keys.ring import Ring

_encoder = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class Masks:
    """All keys that values were masked with; the newest one masks."""

    ring: Ring

    def mask(self, path: str, value: object, now: datetime) -> str:
        """Return the mask of *value* at *path*: `KEY-ID:HMAC`."""
        key_id, mac = self.ring.sign(_message_of(path, value), now)
        return f"{key_id}:{mac.hex()}"

    def matches(self, masked: str, path: str, value: object) -> bool | None:
        """Return whether *masked* is *value* at *path*; none where its key is not available."""
        key_id, _, mac = masked.partition(":")
        if self.ring.get(key_id) is None:
            return None
        return self.ring.verifies(key_id, _message_of(path, value), bytes.fromhex(mac))


def _message_of(path: str, value: object) -> bytes:
    return path.encode(errors="surrogatepass") + b"\0" + _encoder.encode(value)
