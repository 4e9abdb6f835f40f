"""Signed values in an annotation: `base64url(JSON).key id.base64url(HMAC-SHA-256)`.

What is signed begins with what the token is for, so one kind is never taken for another.
"""

import base64
import binascii
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from glasswarden.keys.ring import Ring


class TokenInvalid(Exception):
    """The text is no token that counts."""


class TokenMalformed(TokenInvalid):
    """It does not have the shape of one."""


class KeyUnknown(TokenInvalid):
    """It names a key that was never ours, or was revoked."""


class SignatureWrong(TokenInvalid):
    """Its content is not what was signed."""


T = TypeVar("T")


class Tokens(Generic[T]):
    """Writes and reads tokens of one kind."""

    def __init__(self, purpose: str, content: type[T]) -> None:
        self._domain = f"glasswarden.io/{purpose}\0".encode()
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(content)

    def issue(self, value: T, ring: Ring, now: datetime) -> str:
        """Return *value* as a token, signed with the key in use; raise `NoKey` without one."""
        payload = base64.urlsafe_b64encode(self._encoder.encode(value))
        key_id, mac = ring.sign(self._domain + payload, now)
        return f"{payload.decode()}.{key_id}.{base64.urlsafe_b64encode(mac).decode()}"

    def read(self, token: str, ring: Ring) -> T:
        """Return what *token* holds, or raise `TokenInvalid`: nothing unsigned is ever parsed."""
        try:
            payload, key_id, signature = token.encode("ascii").split(b".")
            mac = base64.b64decode(signature, b"-_", validate=True)
        except (ValueError, binascii.Error) as error:
            raise TokenMalformed("it is no token of three parts") from error
        if ring.get(key_id.decode()) is None:
            raise KeyUnknown("its key is not known, or was revoked")
        if not ring.verifies(key_id.decode(), self._domain + payload, mac):
            raise SignatureWrong("its signature does not fit its content")
        try:
            return self._decoder.decode(base64.urlsafe_b64decode(payload))
        except (ValueError, binascii.Error) as error:
            raise TokenMalformed("its content is of another version") from error
