"""That a grant is over, told on its object: nobody writes at that moment, so nobody else tells."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from correlator.grants.grant import Grant
from glasswarden.kube.events import Event, name_of

RECENT: Final = timedelta(minutes=15)
"""How long after its end a grant's is still told; an API server keeps Events for longer than that,
so whoever tells it once more finds it told."""

MOST_FIELDS: Final = 6


def expired(grants: Iterable[Grant], now: datetime) -> list[Grant]:
    """Return those of *grants* whose time ran out a short while ago."""
    return [
        grant
        for grant in grants
        if grant.closed is None and grant.expires is not None
        if now - RECENT < grant.expires <= now
    ]


def expiry_of(grant: Grant) -> Event:
    """Return what is told of a grant whose time ran out."""
    return Event(
        grant.target,
        "BreakGlassExpired",
        "Expire",
        f"The grant of {grant.grantee} for {grant.ticket} is over: Git decides again."
        f"{_changed(grant)}",
    )


def expiry_name(grant: Grant) -> str:
    """Return the name of that Event: always the same, so that it is told once."""
    return name_of(expiry_of(grant), f"{grant.id}.expired")


def _changed(grant: Grant) -> str:
    paths = [field.change.path for field in grant.fields]
    if not paths:
        return ""
    more = len(paths) - MOST_FIELDS
    return f" Changed under it: {', '.join(paths[:MOST_FIELDS])}" + (
        f" and {more} more." if more > 0 else "."
    )
