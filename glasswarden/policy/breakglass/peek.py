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
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(token.partition(".")[0]), type=content)
    except (ValueError, binascii.Error):
        return None
