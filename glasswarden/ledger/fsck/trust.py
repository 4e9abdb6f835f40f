"""Whose signatures count."""

from dataclasses import dataclass

from glasswarden.ledger.record import SIGNED, AnyEntry
from glasswarden.ledger.signing import is_signed


@dataclass(frozen=True, slots=True)
class Trust:
    """The public keys that may begin, end and cut chains."""

    keys: frozenset[str] | None = None
    """None: whatever keys are found, which proves only that each chain has one."""

    def objection(self, entry: AnyEntry, digest: str, signature: str) -> str:
        """Return what is wrong with the signature of *entry*; nothing where all is well."""
        if not isinstance(entry, SIGNED):
            return ""
        if not signature:
            return "its signature is missing"
        if not is_signed(digest, signature, entry.public_key):
            return "its signature is not that of its key"
        if self.keys is not None and entry.public_key not in self.keys:
            return f"its key {entry.public_key} is not a trusted one"
        return ""
