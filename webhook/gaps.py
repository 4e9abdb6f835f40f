"""Writes that were answered while nothing could be recorded: counted, and told later."""

from dataclasses import dataclass, replace
from datetime import datetime

from glasswarden.ledger.record import FORMAT, Gap, new_id


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """So many writes in such a time."""

    since: datetime
    until: datetime
    why: str
    count: int = 0
    """How many were let through."""

    refused: int = 0

    def and_one(self, now: datetime, *, is_allowed: bool) -> "Unrecorded":
        """Return this with a write more; a clock that was put back does not turn it round."""
        return replace(
            self,
            until=max(self.until, now),
            count=self.count + is_allowed,
            refused=self.refused + (not is_allowed),
        )

    def entry(self, cluster: str, now: datetime, random: bytes) -> Gap:
        """Return what the ledger is told, as soon as it can be told anything."""
        return Gap(
            format=FORMAT,
            id=new_id(now, random),
            time=now,
            cluster=cluster,
            since=self.since,
            until=self.until,
            count=self.count,
            refused=self.refused,
            why=self.why,
        )


def joined(one: Unrecorded | None, other: Unrecorded | None) -> Unrecorded | None:
    """Return both as one gap."""
    if one is None or other is None:
        return one or other
    return Unrecorded(
        min(one.since, other.since),
        max(one.until, other.until),
        one.why,
        one.count + other.count,
        one.refused + other.refused,
    )
