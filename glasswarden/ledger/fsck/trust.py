"""Signed statements about chains: which signatures are trusted, and what the signed records claim.

They claim how far a chain reached, where it was pruned, and which tickets are under a legal hold.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from glasswarden.ledger.chain import is_signed
from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.ledger import Row
from glasswarden.ledger.record import SIGNED, AnyEntry, Held, Opened, Record, Tombstone, read_record


@dataclass(frozen=True, slots=True)
class Trust:
    """The public keys that may begin, end and cut chains."""

    keys: frozenset[str] | None = None
    """None trusts every key that is found, which proves only that each chain has one."""

    def find_objection(self, entry: AnyEntry, digest: str, signature: str) -> str:
        """Return what is wrong with the signature of *entry*; empty where nothing is."""
        if not isinstance(entry, SIGNED):
            return ""
        if not signature:
            return "its signature is missing"
        if not is_signed(digest, signature, entry.public_key):
            return "its signature is not that of its key"
        if self.keys is not None and entry.public_key not in self.keys:
            return f"its key {entry.public_key} is not a trusted one"
        return ""


class Claim(NamedTuple):
    """The statement of *by* that the chain had *digest* at *sequence*."""

    sequence: int
    digest: str
    by: str


@dataclass(slots=True)
class Testimony:
    """The claims of all signed records, by the chain that they are about."""

    claims: defaultdict[str, list[Claim]] = field(default_factory=lambda: defaultdict(list))
    stones: dict[str, Tombstone] = field(default_factory=dict)
    """The last cut of each chain."""

    holds: dict[str, Held] = field(default_factory=dict)
    """What was last decided about keeping a ticket's records."""

    keys: set[str] = field(default_factory=set)
    """Whose signatures were found, trusted or not."""

    @property
    def held(self) -> frozenset[str]:
        """The tickets whose records are to be kept."""
        return frozenset(ticket for ticket, held in self.holds.items() if held.in_force)

    def reach_of(self, chain: str) -> int:
        """Return the farthest place of *chain* that anybody has signed for."""
        stone = self.stones.get(chain)
        named = (claim.sequence for claim in self.claims.get(chain, ()))
        return max((stone.through if stone else 0, *named))

    @property
    def pruned_before(self) -> datetime | None:
        """The time before which records may be gone for good."""
        return max((stone.before for stone in self.stones.values() if stone.before), default=None)

    def add(self, record: Record) -> None:
        """Add the claims of *record*, whose signature is valid."""
        match record.entry:
            case Opened() as opened:
                for head in opened.heads:
                    claim = Claim(head.sequence, head.digest, f"the opening of {opened.writer}")
                    self.claims[head.writer].append(claim)
            case Tombstone() as stone:
                before = self.stones.get(stone.chain)
                if before is None or _reach_of(stone) >= _reach_of(before):
                    self.stones[stone.chain] = stone
            case Held() as held:
                self.holds[held.ticket] = held
            case _:
                pass


def _reach_of(stone: Tombstone) -> tuple[int, int]:
    """Return what grows with every cut: how far it went, and how little it left."""
    return stone.through, -len(stone.kept)


def collect_testimony(rows: Iterable[Row], trust: Trust) -> Testimony:
    """Return the claims of the signed *rows*, oldest first, that have a valid signature.

    A removed signature is found where the record's chain is checked.
    """
    testimony = Testimony()
    for row in rows:
        try:
            record = read_record(row.body, row.digest, row.signature)
        except RecordMalformed:
            continue
        key = getattr(record.entry, "public_key", "")
        if not key or hashlib.sha256(row.body).hexdigest() != row.digest:
            continue
        testimony.keys.add(key)
        if not trust.find_objection(record.entry, row.digest, row.signature):
            testimony.add(record)
    return testimony
