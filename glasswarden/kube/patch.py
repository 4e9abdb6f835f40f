"""Applies changes to an object, and builds the JSON Patch from one version to another.

`apply_changes` is the inverse of `diff.find_changes`. It does not modify the object that it
receives; the result shares with it all parts without a change.

`build_json_patch` (RFC 6902) patches maps field by field and replaces any other value that differs
as a whole, including lists: the items of a list have no stable positions for an operation to name.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, TypeAlias

from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.diff import Change
from glasswarden.kube.equality import is_identical
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import ROOT, Index, Key, Member, Order, Path, Select, Step, parse_path
from glasswarden.kube.schema import ItemsByIdentity, Keys, index_by_identity, target_of

_LAST: Final = 2**31
"""Past the end of every list."""


class ChangeMismatch(ValueError):
    """The object does not contain what a change at ``path`` or below expects."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"nothing to change at {path}")
        self.path = path


class _ChangeNode:
    """The changes at one path and below it."""

    __slots__ = ("below", "change", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.change: Change | None = None
        self.below: dict[Step | None, _ChangeNode] = {}


_Pending: TypeAlias = list[tuple[_ChangeNode, Any]]
"""Nodes with changes below them, each with the copy to apply them to."""


def apply_changes(value: Value, changes: Iterable[Change]) -> Value:
    """Return *value* with *changes* made, or raise `ChangeMismatch`."""
    root = _build_tree(changes)
    if root.change is not None:
        return root.change.new
    result = _copy_container(root, value)
    pending: _Pending = [(root, result)]
    while pending:
        node, container = pending.pop()
        if isinstance(container, dict):
            _edit_map(node, container, pending)
        else:
            _edit_list(node, container, pending)
    return result


def _build_tree(changes: Iterable[Change]) -> _ChangeNode:
    root = _ChangeNode(ROOT)
    # The changes of one walk share their parent paths: each is followed only once.
    seen: dict[int, _ChangeNode] = {}
    for change in changes:
        ahead, path = [], change.path
        while id(path) not in seen and path.parent is not None:
            ahead.append(path)
            path = path.parent
        node = seen.get(id(path), root)
        for each in reversed(ahead):
            node = seen[id(each)] = node.below.setdefault(each.step, _ChangeNode(each))
        node.change = change
    return root


def _copy_container(node: _ChangeNode, value: Value) -> Any:  # noqa: ANN401 - a map or a list
    if not isinstance(value, dict | list):
        raise ChangeMismatch(node.path)
    return value.copy()


def _edit_map(node: _ChangeNode, container: dict[str, Any], pending: _Pending) -> None:
    for step, child in node.below.items():
        if not isinstance(step, Key):
            raise ChangeMismatch(child.path)
        if child.change is None:
            container[step.name] = _copy_container(child, container.get(step.name, ABSENT))
            pending.append((child, container[step.name]))
        elif child.change.new is not ABSENT:
            container[step.name] = child.change.new
        elif container.pop(step.name, ABSENT) is ABSENT:
            raise ChangeMismatch(child.path)


def _edit_list(node: _ChangeNode, container: list[Any], pending: _Pending) -> None:
    finder = _Finder(container.copy())
    removed: set[int] = set()
    for child in _existing_items_of(node):
        index = finder.index_at(child.path)
        if child.change is None:
            container[index] = _copy_container(child, container[index])
            pending.append((child, container[index]))
        elif child.change.new is ABSENT:
            removed.add(index)
        else:
            container[index] = child.change.new
    kept = _new_order_of(node, finder) or (i for i in range(len(container)) if i not in removed)
    container[:] = _insert_added([container[index] for index in kept], node)


def _existing_items_of(node: _ChangeNode) -> Iterable[_ChangeNode]:
    """Return the nodes of items that the list already had."""
    return (
        child
        for step, child in node.below.items()
        if not isinstance(step, Order) and (child.change is None or child.change.old is not ABSENT)
    )


def _new_order_of(node: _ChangeNode, finder: "_Finder") -> list[int]:
    """Return the positions of the remaining items in their new order, if the order changes."""
    child = node.below.get(Order())
    if child is None or child.change is None:
        return []
    return [finder.index_at(parse_path(selector)) for selector in child.change.new]


def _insert_added(kept: list[Any], node: _ChangeNode) -> list[Any]:
    """Return *kept* with each added item at its position in the result."""
    added = sorted(
        (
            (_position_of(child), child.change.new)
            for child in node.below.values()
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


def _position_of(child: _ChangeNode) -> int:
    if child.change is not None and child.change.position is not None:
        return child.change.position
    step = child.path.step
    return step.index if isinstance(step, Index) else _LAST


class _Finder:
    """Finds the items of one list, reading it once for each set of merge keys."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self._by_keys: dict[Keys, ItemsByIdentity] = {}

    def index_at(self, path: Path) -> int:
        """Return the position of the item that the last step of *path* leads to."""
        match path.step:
            case Index(index=index) if index < len(self._items):
                return index
            case Select() | Member() as step:
                keys, identity = target_of(step)
                if found := self._index_by(keys).get(identity):
                    return found[0]
        raise ChangeMismatch(path)

    def _index_by(self, keys: Keys) -> ItemsByIdentity:
        if keys not in self._by_keys:
            self._by_keys[keys] = index_by_identity(self._items, keys) or {}
        return self._by_keys[keys]


Operation: TypeAlias = dict[str, Any]


def build_json_patch(old: Object, new: Object) -> list[Operation]:
    """Return the operations that turn *old* into *new*; none if they are the same."""
    operations: list[Operation] = []
    pending: list[tuple[str, Object, Object]] = [("", old, new)]
    while pending:
        pointer, before, after = pending.pop()
        operations += (
            {"op": "remove", "path": f"{pointer}/{_escape_pointer(key)}"}
            for key in before
            if key not in after
        )
        for key, value in after.items():
            target = f"{pointer}/{_escape_pointer(key)}"
            if key not in before:
                operations.append({"op": "add", "path": target, "value": value})
            elif isinstance(before[key], dict) and isinstance(value, dict):
                pending.append((target, before[key], value))
            elif before[key] is not value and not is_identical(before[key], value):
                operations.append({"op": "replace", "path": target, "value": value})
    return operations


def _escape_pointer(key: str) -> str:
    """Return *key* as part of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
