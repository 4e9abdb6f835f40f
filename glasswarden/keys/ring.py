"""The keys that sign and verify at one moment. Pure: `folder` reads and writes the files.

A key is known by its id alone, so a signature outlives the change to a newer key, and ends when its
own key is taken away.
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime


class NoKey(Exception):
    """There is no key to sign with; make one."""


@dataclass(frozen=True, slots=True)
class Key:
    """A secret, and from when on it signs."""

    id: str
    secret: bytes = field(repr=False)
    active_from: datetime
    """A little after it was made: by then every replica has it and can verify what it signs."""


class Ring:
    """A set of keys, by id."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys = {key.id: key for key in keys}

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def ids(self) -> frozenset[str]:
        """Which keys there are."""
        return frozenset(self._keys)

    def get(self, key_id: str) -> Key | None:
        """Return the key called *key_id*, unless there never was one or it was revoked."""
        return self._keys.get(key_id)

    def current(self, now: datetime) -> Key:
        """Return the newest key that is active, or raise `NoKey`.

        Before the first is, it signs nevertheless: there is nobody else, and our clock may be
        behind that of whoever made it.
        """
        if not self._keys:
            raise NoKey("there is no key")
        by_age = sorted(self._keys.values(), key=lambda key: (key.active_from, key.id))
        active = [key for key in by_age if key.active_from <= now]
        return active[-1] if active else by_age[0]

    def sign(self, message: bytes, now: datetime) -> tuple[str, bytes]:
        """Return the id of the key in use, and its HMAC-SHA-256 of *message*."""
        key = self.current(now)
        return key.id, _mac(key, message)

    def verifies(self, key_id: str, message: bytes, mac: bytes) -> bool:
        """Tell whether *mac* is that key's of *message*, in a time that does not depend on it."""
        key = self._keys.get(key_id)
        return key is not None and hmac.compare_digest(_mac(key, message), mac)


def _mac(key: Key, message: bytes) -> bytes:
    return hmac.digest(key.secret, message, "sha256")
