"""The keys that sign and verify at a given time. Pure: `folder` reads and writes the files.

A signature names its key by id, so it stays valid after a change to a newer key, and becomes
invalid when its own key is removed.
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime


class NoKey(Exception):
    """There is no key to sign with; create one."""


@dataclass(frozen=True, slots=True)
class Key:
    """A secret, and the time from which it signs."""

    id: str
    secret: bytes = field(repr=False)
    active_from: datetime
    """Some time after its creation: by then every replica has it and can verify its signatures."""


class Ring:
    """A set of keys, by id."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys = {key.id: key for key in keys}

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all keys."""
        return frozenset(self._keys)

    def get(self, key_id: str) -> Key | None:
        """Return the key with the id *key_id*; none if it never existed or was revoked."""
        return self._keys.get(key_id)

    def current_key(self, now: datetime) -> Key:
        """Return the newest key that is active, or raise `NoKey`.

        If none is active yet, the first one signs nevertheless: our clock may be behind that of the
        process that created it.
        """
        if not self._keys:
            raise NoKey("there is no key")
        by_age = sorted(self._keys.values(), key=lambda key: (key.active_from, key.id))
        active = [key for key in by_age if key.active_from <= now]
        return active[-1] if active else by_age[0]

    def sign(self, message: bytes, now: datetime) -> tuple[str, bytes]:
        """Return the id of the key in use, and its HMAC-SHA-256 of *message*."""
        key = self.current_key(now)
        return key.id, _mac_of(key, message)

    def verifies(self, key_id: str, message: bytes, mac: bytes) -> bool:
        """Return whether *mac* is that key's MAC of *message*, in constant time."""
        key = self._keys.get(key_id)
        return key is not None and hmac.compare_digest(_mac_of(key, message), mac)


def _mac_of(key: Key, message: bytes) -> bytes:
    return hmac.digest(key.secret, message, "sha256")
