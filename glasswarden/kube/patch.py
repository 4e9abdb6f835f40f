"""Changes put into effect: the inverse of `diff.changes`.

The object given is not modified; the result shares with it whatever no change touches.

The JSON Patch (RFC 6902) that turns one version of an object into another.

Maps are patched field by field; everything else that differs is replaced as a whole, lists too: a
list's items have no lasting positions for an operation to name.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, TypeAlias

from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.diff import Change
from glasswarden.kube.equality import identical
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import ROOT, Index, Key, Member, Order, Path, Select, Step, parse_path
from glasswarden.kube.schema import Identified, Keys, identified, wanted_by

_LAST: Final = 2**31
"""Past the end of every list."""


class ChangeMismatch(ValueError):
    """The object does not have what a change at ``path`` or below says it has."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"nothing to change at {path}")
        self.path = path


class _Place:
    """The changes at one path and below it."""

    __slots__ = ("below", "change", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.change: Change | None = None
        self.below: dict[Step | None, _Place] = {}


_Pending: TypeAlias = list[tuple[_Place, Any]]
"""Places with changes below them, each with the copy to make them in."""


def apply_changes(value: Value, changes: Iterable[Change]) -> Value:
    """Return *value* with *changes* made, or raise `ChangeMismatch`."""
    root = _tree(changes)
    if root.change is not None:
        return root.change.new
    result = _copy(root, value)
    pending: _Pending = [(root, result)]
    while pending:
        place, container = pending.pop()
        if isinstance(container, dict):
            _edit_map(place, container, pending)
        else:
            _edit_list(place, container, pending)
    return result


def _tree(changes: Iterable[Change]) -> _Place:
    root = _Place(ROOT)
    # The changes of one walk share the beginnings of their paths: each is followed only once.
    seen: dict[int, _Place] = {}
    for change in changes:
        ahead, path = [], change.path
        while id(path) not in seen and path.parent is not None:
            ahead.append(path)
            path = path.parent
        place = seen.get(id(path), root)
        for each in reversed(ahead):
            place = seen[id(each)] = place.below.setdefault(each.step, _Place(each))
        place.change = change
    return root


def _copy(place: _Place, value: Value) -> Any:  # noqa: ANN401 - a map or a list
    if not isinstance(value, dict | list):
        raise ChangeMismatch(place.path)
    return value.copy()


def _edit_map(place: _Place, container: dict[str, Any], pending: _Pending) -> None:
    for step, child in place.below.items():
        if not isinstance(step, Key):
            raise ChangeMismatch(child.path)
        if child.change is None:
            container[step.name] = _copy(child, container.get(step.name, ABSENT))
            pending.append((child, container[step.name]))
        elif child.change.new is not ABSENT:
            container[step.name] = child.change.new
        elif container.pop(step.name, ABSENT) is ABSENT:
            raise ChangeMismatch(child.path)


def _edit_list(place: _Place, container: list[Any], pending: _Pending) -> None:
    finder = _Finder(container.copy())
    removed: set[int] = set()
    for child in _stayed(place):
        index = finder.index_at(child.path)
        if child.change is None:
            container[index] = _copy(child, container[index])
            pending.append((child, container[index]))
        elif child.change.new is ABSENT:
            removed.add(index)
        else:
            container[index] = child.change.new
    kept = _order(place, finder) or (i for i in range(len(container)) if i not in removed)
    container[:] = _with_added([container[index] for index in kept], place)


def _stayed(place: _Place) -> Iterable[_Place]:
    """Return the places of items that the list already had."""
    return (
        child
        for step, child in place.below.items()
        if not isinstance(step, Order) and (child.change is None or child.change.old is not ABSENT)
    )


def _order(place: _Place, finder: "_Finder") -> list[int]:
    """Return the positions of the items that stay, in their new order, if it changes."""
    child = place.below.get(Order())
    if child is None or child.change is None:
        return []
    return [finder.index_at(parse_path(selector)) for selector in child.change.new]


def _with_added(kept: list[Any], place: _Place) -> list[Any]:
    """Return *kept* with the added items where they belong: each at its position in the result."""
    added = sorted(
        (
            (_position(child), child.change.new)
            for child in place.below.values()
            if child.change is not None and child.change.old is ABSENT
        ),
        key=lambda each: each[0],
    )
    result: list[Any] = []
    rest = iter(kept)
    for position, item in added:
        result.extend(islice(rest, max(0, position - len(result))))
        result.append(item)
    return [*result, *rest]


def _position(child: _Place) -> int:
    if child.change is not None and child.change.position is not None:
        return child.change.position
    step = child.path.step
    return step.index if isinstance(step, Index) else _LAST


class _Finder:
    """Finds the items of one list, reading it once for each set of merge keys."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self._by_keys: dict[Keys, Identified] = {}

    def index_at(self, path: Path) -> int:
        """Return the position of the item that the last step of *path* leads to."""
        match path.step:
            case Index(index=index) if index < len(self._items):
                return index
            case Select() | Member() as step:
                keys, identity = wanted_by(step)
                if found := self._identified(keys).get(identity):
                    return found[0]
        raise ChangeMismatch(path)

    def _identified(self, keys: Keys) -> Identified:
        if keys not in self._by_keys:
            self._by_keys[keys] = identified(self._items, keys) or {}
        return self._by_keys[keys]


Operation: TypeAlias = dict[str, Any]


def json_patch(old: Object, new: Object) -> list[Operation]:
    """Return the operations that make *new* of *old*, none where they are the same."""
    operations: list[Operation] = []
    pending: list[tuple[str, Object, Object]] = [("", old, new)]
    while pending:
        pointer, before, after = pending.pop()
        operations += (
            {"op": "remove", "path": f"{pointer}/{_escaped(key)}"}
            for key in before
            if key not in after
        )
        for key, value in after.items():
            place = f"{pointer}/{_escaped(key)}"
            if key not in before:
                operations.append({"op": "add", "path": place, "value": value})
            elif isinstance(before[key], dict) and isinstance(value, dict):
                pending.append((place, before[key], value))
            elif before[key] is not value and not identical(before[key], value):
                operations.append({"op": "replace", "path": place, "value": value})
    return operations


def _escaped(key: str) -> str:
    """Return *key* as part of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
