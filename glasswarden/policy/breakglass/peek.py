"""What a token says, unproven: for showing to a person, never for a decision."""

import base64
import binascii
from typing import TypeVar

import msgspec

T = TypeVar("T")


def peek(token: object, content: type[T]) -> T | None:
    """Return what *token* holds, or none where it holds nothing of that kind."""
    if not isinstance(token, str):
        return None
    # A request's token begins with its id, for people.
    payload = token.partition(".")[0].rpartition(":")[2]
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(payload), type=content)
    except (ValueError, binascii.Error):
        return None
