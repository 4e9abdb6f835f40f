"""Writes that were let through while nothing could be recorded: counted, and told later."""

from dataclasses import dataclass, replace
from datetime import datetime

from glasswarden.ledger.record import FORMAT, Gap, new_id


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """So many writes in such a time."""

    since: datetime
    until: datetime
    count: int
    why: str

    def and_one(self, now: datetime) -> "Unrecorded":
        """Return this with a write more; a clock that was put back does not turn it round."""
        return replace(self, until=max(self.until, now), count=self.count + 1)

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
            why=self.why,
        )


def joined(one: Unrecorded | None, other: Unrecorded | None) -> Unrecorded | None:
    """Return both as one gap."""
    if one is None or other is None:
        return one or other
    return Unrecorded(
        min(one.since, other.since),
        max(one.until, other.until),
        one.count + other.count,
        one.why,
    )
