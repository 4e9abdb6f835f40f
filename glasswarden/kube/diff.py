"""Finds what a write changed: the exact and smallest difference of two versions of an object.

`patch.apply_changes` is the inverse: applied to the old object, the changes give the new one,
except for noise and for the spelling of a quantity.

`remove_noise` removes fields that change without a decision. A field is noise only if the API
server or a controller of Kubernetes itself writes it and a person cannot express anything by it, or
if it repeats what other fields already contain.

`Authors` attributes each change to a field manager, and says whether it was an apply.

`find_changed_fields` splits a change into fields where several were added or removed together: the
first label of an object is added with the whole map of labels, but it is one label that changed. An
item at a position is not a field: the next version may have another item there.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from glasswarden.kube.compare import ABSENT, Pair, Value, find_differences, value_after
from glasswarden.kube.equality import is_identical
from glasswarden.kube.managed_fields import Entry, entries_of, owners_at, writers_between
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import Fold, Index, Key, Path
from glasswarden.kube.patterns import PathPattern, covers, walks_of
from glasswarden.kube.schema import KeyedItems, Keys, Shape, index_by_identity, shape_of, step_to

_STATUS: Final = frozenset({"status"})

_METADATA: Final = frozenset(
    {
        # The API server sets these itself and ignores or rejects what a client sends.
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "resourceVersion",
        "selfLink",
        "uid",
        # Who wrote what: evidence about a change, not a change (`managed_fields` reads it).
        "managedFields",
    }
)

_ANNOTATIONS: Final = frozenset(
    {
        # A copy of the whole object, written by `kubectl apply`; for a Secret, in clear text.
        "kubectl.kubernetes.io/last-applied-configuration",
        # The deployment controller counts rollouts here.
        "deployment.kubernetes.io/revision",
        # The status of an autoscaler, when it is read as autoscaling/v1.
        "autoscaling.alpha.kubernetes.io/conditions",
        "autoscaling.alpha.kubernetes.io/current-metrics",
    }
)


def remove_noise(obj: Object, subresource: str = "") -> Object:
    """Return *obj* without noise; the result shares all unchanged parts with *obj*.

    The status is a controller's report, and a write to the main resource cannot change it; it
    counts only in a write to the status subresource. Metadata or annotations that contain only
    noise are removed as a whole, so that added or removed noise is not a change.
    """
    kept = obj if subresource == "status" else _remove_keys(obj, _STATUS)
    metadata = kept.get("metadata")
    if not isinstance(metadata, dict):
        return kept
    metadata = _remove_keys(metadata, _METADATA)
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        metadata = _replace_key(metadata, "annotations", _remove_keys(annotations, _ANNOTATIONS))
    return _replace_key(kept, "metadata", metadata)


def _remove_keys(mapping: Object, keys: frozenset[str]) -> Object:
    if keys.isdisjoint(mapping):
        return mapping
    return {key: value for key, value in mapping.items() if key not in keys}


def _replace_key(mapping: Object, key: str, value: Object) -> Object:
    if not value:
        return _remove_keys(mapping, frozenset({key}))
    return mapping if mapping[key] is value else {**mapping, key: value}


class Author(msgspec.Struct, frozen=True):
    """A field manager and its operation, ``Apply`` or ``Update``; empty if unknown."""

    manager: str = ""
    operation: str = ""


class Authors(msgspec.Struct, frozen=True):
    """Everything about one write that may show who made which change."""

    requested: str
    """The field manager that the request itself names, if any."""
    writers: tuple[Entry, ...]
    """The entries that the write left in managedFields, the latest first."""
    entries: tuple[Entry, ...]
    """All entries after the write."""

    def at(self, path: Path) -> Author:
        """Return the author of the change at *path*."""
        if self.requested:
            return self._requested_author(path)
        if len(self.writers) == 1:
            return _author_of(self.writers[0])
        # Several entries move when a client rewrites managedFields itself; none moves when a write
        # removes fields only, or is the same manager's second one within a second.
        owners = owners_at(self.writers or self.entries, path) or self.writers
        return _author_of(max(owners, key=lambda entry: entry.time)) if owners else Author()

    def _requested_author(self, path: Path) -> Author:
        # The name is known, so all that the entries can add is whether it applied. Where none has
        # moved, the manager that owns the field wrote it twice within a second.
        for entry in self.writers:
            if entry.manager == self.requested:
                return _author_of(entry)
        own = tuple(entry for entry in self.entries if entry.manager == self.requested)
        owners = owners_at(own, path)
        return _author_of(owners[0]) if owners else Author(self.requested, "Update")


def _author_of(entry: Entry) -> Author:
    return Author(entry.manager, entry.operation)


class Change(msgspec.Struct, frozen=True, gc=False):
    """One field that a write changed, added or removed."""

    path: Path
    old: Value
    """`ABSENT` when the field was added."""
    new: Value
    """`ABSENT` when it was removed."""
    manager: str = ""
    """The field manager that wrote it; empty if unknown."""
    operation: str = ""
    """``Apply`` or ``Update``; empty if unknown."""
    position: int | None = None
    """The position of an item that was added to an associative list or a set."""


def find_changes(
    old: Object | None, new: Object | None, *, subresource: str = "", manager: str = ""
) -> list[Change]:
    """Return what the write from *old* to *new* changed, in the objects' order.

    An object that is created or deleted changes as a whole. *subresource* is the one written to,
    *manager* the field manager that the request itself names.
    """
    before, after = entries_of(old), entries_of(new)
    found = list(
        find_differences(
            _comparable_value_of(old, subresource),
            _comparable_value_of(new, subresource),
            shape_of(ref_of(new or old or {})),
            # The old entries come first: the writer could not change them.
            hints=tuple(entry.fields for entry in before + after),
        )
    )
    if not found:
        return []
    authors = Authors(manager, writers_between(before, after), after)
    return [_new_change(pair, authors.at(pair.path)) for pair in found]


def touches(change: Change, path: Path) -> bool:
    """Return whether *change* altered the value at *path*, alone or as a part of more."""
    changed, asked = change.path.steps, path.steps
    if changed[: len(asked)] == asked:
        return True
    if asked[: len(changed)] != changed:
        return False
    rest = asked[len(changed) :]
    old, new = value_after(change.old, rest), value_after(change.new, rest)
    if old is ABSENT or new is ABSENT:
        return old is not new
    return not is_identical(old, new)


def are_covered(changes: Sequence[Change], patterns: Sequence[PathPattern]) -> bool:
    """Return whether *patterns* together cover all that *changes* removed and added."""
    # Most rules cover none of the fields of most writes.
    if changes and not any(pattern.is_near(changes[0].path) for pattern in patterns):
        return False
    walks = walks_of(patterns)
    return all(covers(walks, change.path, *_values_of(change)) for change in changes)


def is_covered(change: Change, patterns: Sequence[PathPattern]) -> bool:
    """Return whether *patterns* cover *change*."""
    return are_covered((change,), patterns)


def _values_of(change: Change) -> list[Value]:
    return [value for value in (change.old, change.new) if value is not ABSENT]


def _comparable_value_of(obj: Object | None, subresource: str) -> Value:
    return ABSENT if obj is None else remove_noise(obj, subresource)


def _new_change(pair: Pair, author: Author) -> Change:
    return Change(pair.path, pair.old, pair.new, author.manager, author.operation, pair.position)


FREE_MAPS: Final = frozenset(
    {
        "annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector",
        "requests", "stringData",
    }
)  # fmt: skip
"""Fields that are maps in which each entry is a field of its own."""


def is_free_map(path: Path) -> bool:
    """Return whether users choose the keys of a map at *path*."""
    return isinstance(path.step, Key) and path.step.name in FREE_MAPS


def unit_at(path: Path) -> Path:
    """Return *path*, or the path of the outermost list that it enters by a position."""
    return Fold(None, _list_after).at(path) or path


def find_changed_fields(ref: Ref, changes: Iterable[Change]) -> Iterator[Path]:
    """Yield the paths of the fields that *changes* to *ref* affect."""
    lists, shapes = Fold(None, _list_after), Fold(shape_of(ref), _shape_after)
    for change in changes:
        around = lists.at(change.path)
        path, old, new = around or change.path, change.old, change.new
        value = old if new is ABSENT else new
        if around is not None or (old is not ABSENT and new is not ABSENT):
            yield path
        elif isinstance(value, dict) and value and is_free_map(path):
            yield from (path / Key(name) for name in value)
        elif isinstance(value, list) and value:
            yield from _item_paths_of(path, value, shapes.at(path))
        else:
            yield path


def _list_after(around: Path | None, path: Path) -> Path | None:
    """Return the outermost list that *path* enters by a position, if any."""
    return path.parent if around is None and isinstance(path.step, Index) else around


def _shape_after(shape: Shape, path: Path) -> Shape:
    return shape if path.step is None else shape.below(path.step)


def _item_paths_of(path: Path, items: list[Any], shape: Shape) -> Iterator[Path]:
    keys = _keys_of(shape)
    found = None if keys is None else index_by_identity(items, keys)
    if keys is None or found is None:
        yield path
    else:
        yield from (path / step_to(item, keys) for item in items)


def _keys_of(shape: Shape) -> Keys | None:
    match shape.items:
        case KeyedItems(keys=keys):
            return keys
        case "set":
            return ()
        case _:
            return None
