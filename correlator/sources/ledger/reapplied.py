"""Whether an object's owner has applied a field again since somebody wrote it directly.

A direct write takes a field from the owner's field manager, and the owner's next apply takes it
back. So the owner holds the field only if it has applied what stands there: then it is in Git.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Final

from correlator.detector.managers import Managers, Party
from correlator.finding import parse_time
from correlator.link.holders import RESOLUTION
from glasswarden.kube.compare import Value
from glasswarden.kube.managed import Entry, FieldsV1, child_of, owners_at
from glasswarden.kube.paths import Path
from glasswarden.ledger.record import Attempt

_SELF: Final = "."


class Hold(Enum):
    """How much of a field the owner has applied since."""

    NOTHING = auto()
    PARTS = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True)
class Reapplied:
    """What the owner's managers have applied since a direct write, by managedFields."""

    entries: tuple[Entry, ...]
    managers: Managers
    attempt: Attempt
    grant_end: datetime | None
    """Until when the write was protected: the owner was made to keep what it did not choose."""

    def hold(self, path: Path, value: Value) -> Hold:
        """Return how much of *value*, which stands at *path*, is the owner's again."""
        owner = list(self._appliers())
        nodes = [node for entry in owner if (node := _node(entry.fields, path)) is not None]
        if any(_has_parts(node) for node in nodes):
            return Hold.PARTS if isinstance(value, dict | list) else Hold.ALL
        others = [entry for entry in self.entries if self._is_other(entry)]
        if nodes:
            # A map that was applied empty is held as a whole, and holds nothing.
            inside = any(_has_parts(_node(entry.fields, path) or {}) for entry in others)
            return Hold.NOTHING if inside else Hold.ALL
        around = owners_at(self.entries, path)
        is_owners = any(entry in owner for entry in around) and not any(map(self._is_other, around))
        return Hold.ALL if is_owners else Hold.NOTHING

    def has_left_out(self) -> bool:
        """Tell whether the owner has applied since, so that what is gone is gone from Git too."""
        return any(
            not entry.subresource
            and (time := parse_time(entry.time)) is not None
            and time > self.attempt.time + RESOLUTION
            for entry in self._appliers()
        )

    def _appliers(self) -> Iterator[Entry]:
        for entry in self.entries:
            if self.managers.party_of(entry) is Party.OWNER and self._is_since(entry):
                yield entry

    def _is_other(self, entry: Entry) -> bool:
        return self.managers.party_of(entry) is not Party.OWNER

    def _is_since(self, entry: Entry) -> bool:
        time = parse_time(entry.time)
        if time is None:
            return self.grant_end is None
        if self.grant_end is not None and time < self.grant_end:
            return False
        # Whoever writes under the owner's own name leaves an entry that looks like the owner's.
        is_disguised = entry.manager == self.attempt.manager
        return time >= self.attempt.time + (RESOLUTION if is_disguised else -RESOLUTION)


def _node(fields: FieldsV1, path: Path) -> FieldsV1 | None:
    """Return what *fields* say at the very *path*."""
    node: FieldsV1 | None = fields
    for step in path.steps:
        node = child_of(node, step) if node else None
    return node


def _has_parts(node: FieldsV1) -> bool:
    return any(name != _SELF for name in node)
