"""What a write changed: the exact and smallest difference between two versions of an object.

`apply.apply_changes` is the inverse: applied to the old object, the changes give the new one, noise
aside, and a quantity's spelling where two mean the same.

Fields that change without anybody having decided anything: what a comparison leaves out.

A field is noise only if the API server or a controller of Kubernetes itself writes it and no person
can mean anything by writing it, or if it repeats what other fields already say.

To whom each change of a write is put down: the field manager, and whether it applied.

The fields that a change is about, each by itself where several came or went together.

The first label of an object comes with the whole map of labels. Whoever made that change did so to
one label, though, not to those that somebody else may add to the map later. The item at a position,
on the other hand, is no field of its own: in the next version another one stands there.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from glasswarden.kube.compare import ABSENT, Pair, Value, differences, value_after
from glasswarden.kube.equality import identical
from glasswarden.kube.managed_fields import Entry, entries_of, owners_at, writers_between
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import Fold, Index, Key, Path
from glasswarden.kube.patterns import PathPattern, covers, walks_of
from glasswarden.kube.schema import Keyed, Keys, Shape, identified, shape_of, step_to

_STATUS: Final = frozenset({"status"})

_METADATA: Final = frozenset(
    {
        # The API server sets these itself and ignores or refuses what a client sends.
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "resourceVersion",
        "selfLink",
        "uid",
        # Who wrote what: evidence about a change, not a change (`managed` reads it).
        "managedFields",
    }
)

_ANNOTATIONS: Final = frozenset(
    {
        # The whole object once more, written by `kubectl apply`; of a Secret, in clear text.
        "kubectl.kubernetes.io/last-applied-configuration",
        # The deployment controller counts rollouts here.
        "deployment.kubernetes.io/revision",
        # The status of an autoscaler, when it is read as autoscaling/v1.
        "autoscaling.alpha.kubernetes.io/conditions",
        "autoscaling.alpha.kubernetes.io/current-metrics",
    }
)


def without_noise(obj: Object, subresource: str = "") -> Object:
    """Return *obj* without noise, sharing with it whatever stayed whole.

    The status is a controller's report, and a write to the main resource cannot change it; only a
    write to the status subresource is about it. Metadata or annotations that hold nothing else are
    left out altogether, so that noise coming or going leaves no trace.
    """
    kept = obj if subresource == "status" else _without(obj, _STATUS)
    metadata = kept.get("metadata")
    if not isinstance(metadata, dict):
        return kept
    metadata = _without(metadata, _METADATA)
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        metadata = _with(metadata, "annotations", _without(annotations, _ANNOTATIONS))
    return _with(kept, "metadata", metadata)


def _without(mapping: Object, keys: frozenset[str]) -> Object:
    if keys.isdisjoint(mapping):
        return mapping
    return {key: value for key, value in mapping.items() if key not in keys}


def _with(mapping: Object, key: str, value: Object) -> Object:
    if not value:
        return _without(mapping, frozenset({key}))
    return mapping if mapping[key] is value else {**mapping, key: value}


class Author(msgspec.Struct, frozen=True):
    """A field manager and its operation, ``Apply`` or ``Update``; empty where nothing tells."""

    manager: str = ""
    operation: str = ""


class Authors(msgspec.Struct, frozen=True):
    """Everything about one write that may tell who made which change."""

    requested: str
    """The field manager that the request itself named, if it did."""
    writers: tuple[Entry, ...]
    """The entries that the write left in managedFields, the latest first."""
    entries: tuple[Entry, ...]
    """All entries after the write."""

    def at(self, path: Path) -> Author:
        """Return the author of the change at *path*."""
        if self.requested:
            return self._requested(path)
        if len(self.writers) == 1:
            return _author(self.writers[0])
        # Several entries move when a client rewrites managedFields itself; none moves when a write
        # removes fields only, or is the same manager's second one within a second.
        owners = owners_at(self.writers or self.entries, path) or self.writers
        return _author(max(owners, key=lambda entry: entry.time)) if owners else Author()

    def _requested(self, path: Path) -> Author:
        # The name is known, so all that the entries can add is whether it applied. Where none has
        # moved, the manager that owns the field wrote it twice within a second.
        for entry in self.writers:
            if entry.manager == self.requested:
                return _author(entry)
        own = tuple(entry for entry in self.entries if entry.manager == self.requested)
        owners = owners_at(own, path)
        return _author(owners[0]) if owners else Author(self.requested, "Update")


def _author(entry: Entry) -> Author:
    return Author(entry.manager, entry.operation)


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


FREE_MAPS: Final = frozenset(
    {
        "annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector",
        "requests", "stringData",
    }
)  # fmt: skip
"""Fields that are maps in which each entry stands for itself."""


def is_free_map(path: Path) -> bool:
    """Tell whether a map at *path* has keys of anybody's choice."""
    return isinstance(path.step, Key) and path.step.name in FREE_MAPS


def unit_at(path: Path) -> Path:
    """Return *path*, or the path of the list where it leads through a position of one."""
    return Fold(None, _list_after).at(path) or path


def changed_fields(ref: Ref, changes: Iterable[Change]) -> Iterator[Path]:
    """Yield the paths of the fields that *changes* to *ref* are about."""
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
            yield from _items(path, value, shapes.at(path))
        else:
            yield path


def _list_after(around: Path | None, path: Path) -> Path | None:
    """Return the outermost list that *path* leads through a position of, if it does."""
    return path.parent if around is None and isinstance(path.step, Index) else around


def _shape_after(shape: Shape, path: Path) -> Shape:
    return shape if path.step is None else shape.below(path.step)


def _items(path: Path, items: list[Any], shape: Shape) -> Iterator[Path]:
    keys = _keys(shape)
    found = None if keys is None else identified(items, keys)
    if keys is None or found is None:
        yield path
    else:
        yield from (path / step_to(item, keys) for item in items)


def _keys(shape: Shape) -> Keys | None:
    match shape.items:
        case Keyed(keys=keys):
            return keys
        case "set":
            return ()
        case _:
            return None
