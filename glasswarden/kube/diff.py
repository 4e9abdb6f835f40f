"""What a write changed: the exact and smallest difference between two versions of an object.

`apply.apply_changes` is the inverse: applied to the old object, the changes give the new one, noise
aside, and a quantity's spelling where two mean the same.
"""

from collections.abc import Sequence

import msgspec

from glasswarden.kube.authors import Author, Authors
from glasswarden.kube.compare import ABSENT, Pair, Value, differences
from glasswarden.kube.equality import identical
from glasswarden.kube.lookup import value_after
from glasswarden.kube.managed import entries_of, writers_between
from glasswarden.kube.noise import without_noise
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.path_patterns import PathPattern
from glasswarden.kube.path_walks import covers, walks_of
from glasswarden.kube.paths import Path
from glasswarden.kube.schema import shape_of

__all__ = ["ABSENT", "Change", "Value", "are_covered", "changes", "is_covered", "touches"]


class Change(msgspec.Struct, frozen=True, gc=False):
    """One field that a write changed, added or removed."""

    path: Path
    old: Value
    """`ABSENT` when the field was added."""
    new: Value
    """`ABSENT` when it was removed."""
    manager: str = ""
    """The field manager that wrote it, empty where nothing tells."""
    operation: str = ""
    """``Apply`` or ``Update``, empty where nothing tells."""
    position: int | None = None
    """Where an item stands that was added to an associative list or a set."""


def changes(
    old: Object | None, new: Object | None, *, subresource: str = "", manager: str = ""
) -> list[Change]:
    """Return what the write from *old* to *new* changed, in the objects' order.

    An object that is created or deleted changes as a whole. *subresource* is the one written to,
    *manager* the field manager that the request itself named.
    """
    before, after = entries_of(old), entries_of(new)
    found = list(
        differences(
            _meant(old, subresource),
            _meant(new, subresource),
            shape_of(ref_of(new or old or {})),
            # What the writer could not touch comes first.
            hints=tuple(entry.fields for entry in before + after),
        )
    )
    if not found:
        return []
    authors = Authors(manager, writers_between(before, after), after)
    return [_change(pair, authors.at(pair.path)) for pair in found]


def touches(change: Change, path: Path) -> bool:
    """Tell whether *change* altered what stands at *path*, alone or with more around it."""
    changed, asked = change.path.steps, path.steps
    if changed[: len(asked)] == asked:
        return True
    if asked[: len(changed)] != changed:
        return False
    rest = asked[len(changed) :]
    old, new = value_after(change.old, rest), value_after(change.new, rest)
    if old is ABSENT or new is ABSENT:
        return old is not new
    return not identical(old, new)


def are_covered(changes: Sequence[Change], patterns: Sequence[PathPattern]) -> bool:
    """Tell whether *patterns* together cover *changes*, what they removed and what they added."""
    # Nearly all writes are about something else than nearly all rules.
    if changes and not any(pattern.is_near(changes[0].path) for pattern in patterns):
        return False
    walks = walks_of(patterns)
    return all(covers(walks, change.path, *_values(change)) for change in changes)


def is_covered(change: Change, patterns: Sequence[PathPattern]) -> bool:
    """Tell the same of one change."""
    return are_covered((change,), patterns)


def _values(change: Change) -> list[Value]:
    return [value for value in (change.old, change.new) if value is not ABSENT]


def _meant(obj: Object | None, subresource: str) -> Value:
    return ABSENT if obj is None else without_noise(obj, subresource)


def _change(pair: Pair, author: Author) -> Change:
    return Change(pair.path, pair.old, pair.new, author.manager, author.operation, pair.position)
