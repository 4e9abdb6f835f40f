"""What live managedFields say for or against a record. They are hints: a client may wipe them."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from glasswarden.kube.managed import Entry
from glasswarden.ledger.record import Attempt

RESOLUTION: Final = timedelta(seconds=2)
"""managedFields count whole seconds, by another clock."""


class Testimony(StrEnum):
    """What the holders of a field say about a record that is said to have set it."""

    SUPPORTS = "supports"
    SILENT = "silent"
    CONTRADICTS = "contradicts"


def testimony(attempt: Attempt, holders: tuple[Entry, ...]) -> Testimony:
    """Return what *holders* say about *attempt* as the field's last write.

    Appliers prove nothing against it: a reconciler that was made to keep a held field owns it
    without having chosen its value.
    """
    if any(_is_by(entry, attempt) for entry in holders):
        return Testimony.SUPPORTS
    updaters = [entry for entry in holders if entry.operation == "Update"]
    return Testimony.CONTRADICTS if updaters else Testimony.SILENT


def since(holders: tuple[Entry, ...]) -> datetime | None:
    """Return when the last of *holders* wrote, if that can be read."""
    times = [time for entry in holders if (time := _time(entry)) is not None]
    return max(times, default=None)


def _is_by(entry: Entry, attempt: Attempt) -> bool:
    if attempt.subresource or entry.subresource:
        # The API server names no manager to a webhook when an object is scaled.
        named = entry.subresource == attempt.subresource
    else:
        named = entry.manager == attempt.manager != ""
    time = _time(entry)
    # The entry's time moves with later writes of that manager, never back.
    return named and time is not None and time >= attempt.time - RESOLUTION


def _time(entry: Entry) -> datetime | None:
    try:
        return datetime.fromisoformat(entry.time)
    except ValueError:
        return None
