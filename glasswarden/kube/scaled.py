"""What was scaled, and since when: the trace that a write to `scale` leaves in managedFields.

A Scale has no annotations, so a write to it can be remembered nowhere else on the object.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from glasswarden.kube.managed import Entry, entries_of, owned_paths
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import Path

_AUTOSCALERS: Final = frozenset({"kube-controller-manager", "keda"})
"""The programs that scale without anybody asking them to."""


def scaled_since(obj: Object, start: datetime) -> tuple[Path, ...]:
    """Return the fields of *obj* that were written through `scale` at *start* or later, by hand."""
    return tuple(_scaled(obj, start))


def _scaled(obj: Object, start: datetime) -> Iterator[Path]:
    whole_seconds = start.replace(microsecond=0)
    for entry in entries_of(obj):
        if entry.subresource != "scale" or entry.manager in _AUTOSCALERS:
            continue
        time = _time_of(entry)
        if time is not None and time >= whole_seconds:
            yield from owned_paths(entry.fields)


def _time_of(entry: Entry) -> datetime | None:
    try:
        time = datetime.fromisoformat(entry.time)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
