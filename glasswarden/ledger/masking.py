"""Masks: what a ledger keeps of a value that is nobody's business.

A mask is a keyed hash of the field's path and the value. Who holds the key can tell whether a live
value is the recorded one; who does not can neither read nor guess it, and equal values in different
fields do not look alike.
"""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from glasswarden.keys.ring import Ring

_encoder = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class Masks:
    """The keys that values were ever masked with; the newest of them masks."""

    ring: Ring

    def mask(self, path: str, value: object, now: datetime) -> str:
        """Return the mask of *value* at *path*: `KEY-ID:HMAC`."""
        key_id, mac = self.ring.sign(_message(path, value), now)
        return f"{key_id}:{mac.hex()}"

    def matches(self, masked: str, path: str, value: object) -> bool | None:
        """Tell whether *masked* is *value* at *path*; none where its key is not at hand."""
        key_id, _, mac = masked.partition(":")
        if self.ring.get(key_id) is None:
            return None
        return self.ring.verifies(key_id, _message(path, value), bytes.fromhex(mac))


def _message(path: str, value: object) -> bytes:
    return path.encode(errors="surrogatepass") + b"\0" + _encoder.encode(value)
