"""Holds fields of a proposed object at their live values, and finds fields whose hold has ended.

A held field gets its live value; if it has none, it is removed: a field that was removed stays
removed. An item of a list is found by its merge keys or its value. A list whose items cannot be
identified is held as a whole, and so is a list if a path names a position in it.

If the proposal no longer contains the parent of a held field, the parent is restored as it is live:
the API server would reject half a probe, or a container without an image. Of a map whose keys users
choose, only the held keys are restored. A parent that would become empty, and does not exist live,
is removed.

A hold ends for a field where the owner declares the live value. That a write does not change the
field is no declaration, because most writes concern other fields. The declaration is, for
server-side apply, the owner's managedFields entry; for client-side apply, the last-applied
annotation. If there is neither, as with a plain update, the hold continues.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from glasswarden.kube.compare import ABSENT, Value, value_after, value_at
from glasswarden.kube.diff import Change, find_changes, is_free_map, unit_at
from glasswarden.kube.equality import is_identical, is_same_scalar
from glasswarden.kube.managed_fields import Entry, entries_of, owners_at, paths_scaled_since
from glasswarden.kube.objects import Object, annotations_of
from glasswarden.kube.patch import apply_changes
from glasswarden.kube.paths import ROOT, Key, Member, Order, Path, Select, Step, parse_path
from glasswarden.kube.schema import (
    Identity,
    ItemsByIdentity,
    Keys,
    index_by_identity,
    step_to,
    target_of,
)


class _HeldNode:
    """The held fields at one path and below it."""

    __slots__ = ("below", "held", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = False
        self.below: dict[Step, _HeldNode] = {}


_Pending: TypeAlias = tuple[_HeldNode, Value, Value]
"""A node, with the live and the proposed value there."""


def hold_fields(live: Object, proposed: Object, paths: Iterable[Path]) -> Object:
    """Return *proposed* with the fields at *paths* as they are in *live*."""
    listed = tuple(paths)
    result = apply_changes(proposed, _find_restorations(live, proposed, listed))
    orders = {path for path in listed if isinstance(path.step, Order)}
    if orders:
        result = apply_changes(result, _find_reorderings(live, result, orders))
    return cast("Object", result)


def _find_restorations(live: Object, proposed: Object, paths: Iterable[Path]) -> list[Change]:
    """Return the changes to *proposed* that restore the live values of the fields at *paths*."""
    found: list[Change] = []
    pending: list[_Pending] = [(_build_tree(paths), live, proposed)]
    while pending:
        node, was, now = pending.pop()
        if node.held or _is_removed(node, was, now) or _is_emptied(node, was, now):
            found += _restore(node, was, now)
        elif isinstance(now, list):
            _restore_in_list(node, was, now, found, pending)
        elif isinstance(now, dict):
            before = was if isinstance(was, dict) else {}
            pending += (
                (child, before.get(step.name, ABSENT), now.get(step.name, ABSENT))
                for step, child in node.below.items()
                if isinstance(step, Key)
            )
    return found


def _build_tree(paths: Iterable[Path]) -> _HeldNode:
    root = _HeldNode(ROOT)
    for path in paths:
        if isinstance(path.step, Order):
            continue
        node = root
        for step in unit_at(path).steps:
            node = node.below.setdefault(step, _HeldNode(node.path / step))
        node.held = True
    return root


def _is_removed(node: _HeldNode, was: Value, now: Value) -> bool:
    """Return whether *was* contains a held field whose parent *now* lacks."""
    if type(was) is type(now) or not isinstance(was, dict | list):
        return False
    return _has_held(node, was)


def _is_emptied(node: _HeldNode, was: Value, now: Value) -> bool:
    """Return whether *now* contains only fields that stay removed, and does not exist live."""
    if was is not ABSENT or not now:
        return False
    if isinstance(now, dict):
        return all(_is_held(node.below.get(Key(name))) for name in now)
    return isinstance(now, list) and any(
        _are_held(index_by_identity(now, keys), children)
        for keys, children in _group_by_keys(node).items()
    )


def _are_held(items: ItemsByIdentity | None, children: dict[Identity, _HeldNode]) -> bool:
    return items is not None and all(_is_held(children.get(identity)) for identity in items)


def _has_held(node: _HeldNode, was: Value) -> bool:
    return any(value_after(was, steps) is not ABSENT for steps in _steps_to_held(node))


def _steps_to_held(node: _HeldNode) -> Iterator[tuple[Step, ...]]:
    pending: list[tuple[_HeldNode, tuple[Step, ...]]] = [(node, ())]
    while pending:
        at, steps = pending.pop()
        if at.held:
            yield steps
        else:
            pending += ((child, (*steps, step)) for step, child in at.below.items())


def _restore(node: _HeldNode, was: Value, now: Value) -> Iterator[Change]:
    if was is ABSENT and now is ABSENT:
        return
    if was is ABSENT or now is ABSENT or not is_identical(was, now):
        yield Change(node.path, now, _needed_value_of(node, was))


def _needed_value_of(node: _HeldNode, was: Value) -> Value:
    """Return as much of *was* as the held fields need."""
    if node.held or not isinstance(was, dict) or not is_free_map(node.path):
        return was
    names = [step.name for step in node.below if isinstance(step, Key)]
    return {name: was[name] for name in names if name in was}


def _restore_in_list(
    node: _HeldNode, was: Value, now: list[Any], found: list[Change], pending: list[_Pending]
) -> None:
    """Add the changes that restore held items to *found*, and items to inspect to *pending*."""
    before = was if isinstance(was, list) else []
    for keys, children in _group_by_keys(node).items():
        old, new = index_by_identity(before, keys), index_by_identity(now, keys)
        if old is None or new is None:
            found.extend(_restore(node, was, now))
            return
        back = {}
        for identity, child in children.items():
            item, other = _item_at(old, identity), _item_at(new, identity)
            if other is ABSENT and _has_held(child, item):
                back[identity] = child.path
            else:
                pending.append((child, item, other))
        stay = [each for each in new if each in old or not _is_held(children.get(each))]
        found += _add_back(back, old, stay)


def _group_by_keys(node: _HeldNode) -> dict[Keys, dict[Identity, _HeldNode]]:
    """Return the nodes of items by their identities, for each set of merge keys in use."""
    found: dict[Keys, dict[Identity, _HeldNode]] = {}
    for step, child in node.below.items():
        if isinstance(step, Select | Member):
            keys, identity = target_of(step)
            found.setdefault(keys, {})[identity] = child
    return found


def _is_held(node: _HeldNode | None) -> bool:
    return node is not None and node.held


def _item_at(items: ItemsByIdentity, identity: Identity) -> Value:
    return items[identity][1] if identity in items else ABSENT


def _add_back(
    back: dict[Identity, Path], old: ItemsByIdentity, stay: list[Identity]
) -> Iterator[Change]:
    """Yield the items of *back* as additions, each behind the item that it follows in *old*."""
    remaining = set(stay)
    followers: dict[Identity, list[Identity]] = {}
    leader: Identity = None
    for identity in old:
        if identity in back:
            followers.setdefault(leader, []).append(identity)
        elif identity in remaining:
            leader = identity
    arranged = [*followers.get(None, [])]
    for identity in stay:
        arranged += (identity, *followers.get(identity, []))
    for position, identity in enumerate(arranged):
        if identity in back:
            yield Change(back[identity], ABSENT, old[identity][1], position=position)


def _find_reorderings(live: Object, result: Object, orders: set[Path]) -> Iterator[Change]:
    """Yield the changes that restore the live order of items that *result* shares with *live*."""
    for change in find_changes(live, result):
        if change.path not in orders or change.path.parent is None:
            continue
        shared = iter(change.old)
        among = set(change.old)
        items = value_at(result, change.path)
        keys, _ = target_of(cast("Select | Member", parse_path(change.old[0]).step))
        now = [str(step_to(item, keys)) for item in items]
        wanted = [next(shared) if selector in among else selector for selector in now]
        yield Change(change.path, now, wanted)


LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def find_released_paths(
    live: Object, proposed: Object, paths: Iterable[Path], manager: str
) -> tuple[Path, ...]:
    """Return those of *paths* at which the owner, writing as *manager*, declares the live value.

    *proposed* is what the owner writes, before any field is held.
    """
    alike = [path for path in paths if _is_alike(live, proposed, path)]
    if not alike:
        return ()
    entry = _find_applied_entry(manager, proposed)
    if entry is None:
        declared = _last_applied_of(proposed)
        return tuple(path for path in alike if _is_declared(declared, live, path))
    if _is_bookkeeping(live, proposed, entry):
        return ()
    entries = entries_of(proposed)
    return tuple(
        path for path in alike if (entry in owners_at(entries, path)) == _is_present(live, path)
    )


def find_orphaned_paths(
    live: Object, proposed: Object, paths: Iterable[Path], manager: str
) -> tuple[Path, ...]:
    """Return those of *paths* that nobody owns, in a server-side apply of the owner as *manager*.

    A field that a person added, that an apply removed, and that a hold restored belongs to no field
    manager any more: no later apply would remove it.
    """
    if _find_applied_entry(manager, proposed) is None:
        return ()
    entries = entries_of(proposed)
    return tuple(
        path
        for path in paths
        if _is_present(live, path) and _is_alike(live, proposed, path)
        if not owners_at(entries, path)
    )


def find_paths_scaled_against_owner(live: Object, start: datetime) -> tuple[Path, ...]:
    """Return the fields of *live* that were scaled since *start* and that no applier declares so.

    The entry of a scale remains after the owner declares the same value, and a delete names no
    field manager.
    """
    scaled = paths_scaled_since(live, start)
    appliers = [each.manager for each in entries_of(live) if each.operation == "Apply"] or [""]
    agreed = {path for each in appliers for path in find_released_paths(live, live, scaled, each)}
    return tuple(path for path in scaled if path not in agreed)


def _is_alike(live: Object, proposed: Object, path: Path) -> bool:
    if isinstance(path.step, Order):
        return False  # nobody declares the order of a list
    was, now = value_at(live, path), value_at(proposed, path)
    if was is ABSENT or now is ABSENT:
        return was is now
    return is_identical(was, now)


def _find_applied_entry(manager: str, proposed: Object) -> Entry | None:
    """Return the entry of *manager* in *proposed*, if it uses server-side apply."""
    return next(
        (
            entry
            for entry in entries_of(proposed)
            if (entry.manager, entry.operation, entry.subresource) == (manager, "Apply", "")
        ),
        None,
    )


def _is_bookkeeping(live: Object, proposed: Object, entry: Entry) -> bool:
    """Return whether the write changes only other managers' entries.

    Reconcilers take over the fields of kubectl's managers before they apply. That write declares
    nothing, although their own entry then has the fields; an apply does not change other entries
    for fields that keep their values.
    """
    return _other_entries_of(live, entry) != _other_entries_of(
        proposed, entry
    ) and not find_changes(live, proposed)


def _other_entries_of(obj: Object, entry: Entry) -> list[Entry]:
    return [each for each in entries_of(obj) if each.identity != entry.identity]


def _is_present(obj: Object, path: Path) -> bool:
    return value_at(obj, path) is not ABSENT


def _last_applied_of(obj: Object) -> Value:
    try:
        return json.loads(annotations_of(obj)[LAST_APPLIED])
    except (KeyError, TypeError, ValueError, RecursionError):
        return ABSENT


def _is_declared(declared: Value, live: Object, path: Path) -> bool:
    """Return whether *declared* has the live value at *path*, except for defaults."""
    if declared is ABSENT:
        return False
    wanted, found = value_at(declared, path), value_at(live, path)
    if wanted is ABSENT or found is ABSENT:
        return wanted is found
    return _is_within(wanted, found)


def _is_within(wanted: Any, found: Any) -> bool:  # noqa: ANN401 - any JSON values
    """Return whether *found* equals *wanted*, with or without additional fields in its maps."""
    pending = [(wanted, found)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if not one.keys() <= other.keys():
                return False
            pending += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pending += zip(one, other, strict=True)
        elif isinstance(one, dict | list) or not is_same_scalar(one, other):
            return False
    return True
