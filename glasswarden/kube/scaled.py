"""What was scaled, and since when: the trace that a write to `scale` leaves in managedFields.

A Scale has no annotations, so a write to it can be remembered nowhere else on the object. The API
server gives that trace no time (seen up to Kubernetes 1.36), so one that may be older counts too.
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
    """Return the fields of *obj* that were last written through `scale`, by hand, since *start*."""
    return tuple(_scaled(obj, start))


def _scaled(obj: Object, start: datetime) -> Iterator[Path]:
    for entry in entries_of(obj):
        by_hand = entry.subresource == "scale" and entry.manager not in _AUTOSCALERS
        if by_hand and not _is_before(entry, start):
            yield from owned_paths(entry.fields)


def _is_before(entry: Entry, start: datetime) -> bool:
    try:
        time = datetime.fromisoformat(entry.time)
    except ValueError:
        return False
    return time.tzinfo is not None and time < start.replace(microsecond=0)
