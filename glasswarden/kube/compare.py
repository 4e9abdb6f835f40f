"""Compares two versions of a value and finds the places where they differ.

Lists are compared as Kubernetes merges them: associative lists by their merge keys, sets by value,
atomic lists as a whole, all others by index. The schema of the built-in types determines which rule
applies; for a field that the schema does not contain, FieldsV1 does. A list differs as a whole if
an item lacks a merge key, or if two items have the same merge keys.

`value_at` reads the value at a path of an object.

Nothing here recurses, and no cost grows faster than the size of the values.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from glasswarden.kube.equality import (
    is_identical,
    is_same_int_or_string,
    is_same_quantity,
    is_same_scalar,
)
from glasswarden.kube.managed_fields import Hints, hints_below, items_from_hints
from glasswarden.kube.paths import ROOT, Fold, Index, Key, Member, Order, Path, Select, Step
from glasswarden.kube.schema import (
    ItemsByIdentity,
    KeyedItems,
    Keys,
    Shape,
    are_aligned,
    identity_of,
    index_by_identity,
    step_to,
    target_of,
)


class Absent:
    """The type of `ABSENT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"  # a copy is the same singleton


ABSENT: Final = Absent()
"""Stands for a value that does not exist: not the same as null."""

Value: TypeAlias = Any
"""A JSON value, or `ABSENT`."""

_Row: TypeAlias = tuple[Any, Value, Value]
"""A key, item or index, and the two values that it leads to."""

_Part: TypeAlias = tuple[Step, Value, Value, int | None]
"""A step to two values that differ, the values, and the position of an item that was added."""

_SHORTCUT_LEVELS: Final = 24
"""Levels on which one comparison skips equal parts. Such a comparison reads everything below, so on
every level of a deep object it would cost its depth times its size."""

_NO_COUNTERPART: Final = (-1, ABSENT)


class Pair(msgspec.Struct, frozen=True, gc=False):
    """The same place in both versions."""

    path: Path
    old: Value
    new: Value
    shape: Shape
    level: int = 0
    position: int | None = None
    """The position of an added item in its list."""


def find_differences(old: Value, new: Value, shape: Shape, hints: Hints) -> Iterator[Pair]:
    """Yield the places where *new* differs from *old*, each as small as it can be, in order."""
    known = Fold(hints, _hints_after)
    pending = [Pair(ROOT, old, new, shape)]
    while pending:
        pair = pending.pop()
        if not _is_divisible(pair):
            yield pair
            continue
        parts = _compare_fields(pair) if isinstance(pair.old, dict) else _compare_items(pair, known)
        if parts is None:
            yield pair
        else:
            pending += [_pair_below(pair, part) for part in reversed(parts)]


def _is_divisible(pair: Pair) -> bool:
    """Return whether the differences may be inside: in two maps, or in two lists."""
    return (
        type(pair.old) is type(pair.new)
        and isinstance(pair.old, dict | list)
        and not isinstance(pair.path.step, Order)
    )


def _compare_fields(pair: Pair) -> list[_Part]:
    old, new = pair.old, pair.new
    others = [new.get(key, ABSENT) for key in old]
    kept: list[_Part] = [
        (Key(key), value, other, None)
        for key, value, other in _select_unequal(pair, old, old.values(), others)
        if not _has_same_meaning(value, other, pair.shape.at(key))
    ]
    return kept + [(Key(key), ABSENT, new[key], None) for key in new if key not in old]


def _compare_items(pair: Pair, known: Fold[Hints]) -> list[_Part] | None:
    """Return the differing items, or nothing when the list differs as a whole."""
    match pair.shape.items or items_from_hints(known.at(pair.path)):
        case KeyedItems(keys=keys):
            return _compare_by_identity(pair, keys)
        case "set":
            return _compare_by_identity(pair, ())
        case "atomic":
            return _compare_as_whole(pair)
        case _:
            return _compare_by_index(pair)


def _compare_by_index(pair: Pair) -> list[_Part]:
    size = max(len(pair.old), len(pair.new))
    olds, news = (items + [ABSENT] * (size - len(items)) for items in (pair.old, pair.new))
    unequal = _select_unequal(pair, range(size), olds, news)
    return [(Index(index), old, new, None) for index, old, new in unequal]


def _compare_by_identity(pair: Pair, keys: Keys) -> list[_Part] | None:
    if are_aligned(pair.old, pair.new, keys):
        return _compare_paired(pair, keys, pair.old, pair.new)
    before, after = index_by_identity(pair.old, keys), index_by_identity(pair.new, keys)
    if before is None or after is None:
        return _compare_as_whole(pair)
    counterparts = [after.get(identity, _NO_COUNTERPART)[1] for identity in before]
    added: list[_Part] = [
        (step_to(item, keys), ABSENT, item, index)
        for identity, (index, item) in after.items()
        if identity not in before
    ]
    paired = _compare_paired(pair, keys, pair.old, counterparts)
    return paired + added + _compare_order(before, after, keys)


def _compare_paired(pair: Pair, keys: Keys, old: list[Value], new: list[Value]) -> list[_Part]:
    """Return the items of *old* that differ from their counterpart in *new*."""
    unequal = _select_unequal(pair, old, old, new)
    return [(step_to(item, keys), item, other, None) for item, _, other in unequal]


def _compare_order(before: ItemsByIdentity, after: ItemsByIdentity, keys: Keys) -> list[_Part]:
    """Return the order of the items that both lists have, as selectors, if it changed."""
    old = [identity for identity in before if identity in after]
    new = [identity for identity in after if identity in before]
    if old == new:
        return []
    was, now = ([str(step_to(before[each][1], keys)) for each in order] for order in (old, new))
    return [(Order(), was, now, None)]


def _compare_as_whole(pair: Pair) -> list[_Part] | None:
    return [] if is_identical(pair.old, pair.new) else None


def _pair_below(pair: Pair, part: _Part) -> Pair:
    step, old, new, position = part
    return Pair(pair.path / step, old, new, pair.shape.below(step), pair.level + 1, position)


def _hints_after(above: Hints, path: Path) -> Hints:
    return above if path.step is None else hints_below(above, path.step)


def _select_unequal(
    pair: Pair, ways: Iterable[Any], olds: Iterable[Value], news: Iterable[Value]
) -> list[_Row]:
    """Return the rows whose values differ, or may differ; a later comparison inside decides."""
    # Values that are nested too deep for Python's comparison are read a second time.
    try:
        if pair.level < _SHORTCUT_LEVELS and pair.shape.typed:
            rows = zip(ways, olds, news, strict=True)
            return [(way, old, new) for way, old, new in rows if old != new]
        if pair.level < _SHORTCUT_LEVELS:
            rows = zip(ways, olds, news, strict=True)
            return [row for row in rows if not _is_exactly_equal(row[1], row[2])]
    except RecursionError:
        pass
    rows = zip(ways, olds, news, strict=True)
    return [row for row in rows if not _is_same_leaf(row[1], row[2])]


def _is_exactly_equal(old: Value, new: Value) -> bool:
    # The API server checks the types of its own kinds; in other kinds true may have become 1,
    # which Python considers equal.
    if old != new:
        return False
    return is_identical(old, new) if isinstance(old, dict | list) else is_same_scalar(old, new)


def _is_same_leaf(old: Value, new: Value) -> bool:
    return not isinstance(old, dict | list) and is_same_scalar(old, new)


def _has_same_meaning(old: Value, new: Value, shape: Shape) -> bool:
    match shape.meaning:
        case None:
            return False
        case "quantity":
            return is_same_quantity(old, new)
        case "int-or-string":
            return is_same_int_or_string(old, new)


def value_at(value: Value, path: Path) -> Value:
    """Return the value at *path* inside *value*, or `ABSENT`.

    The order of a list leads to the list itself.
    """
    return value_after(value, path.steps)


def value_after(value: Value, steps: tuple[Step, ...]) -> Value:
    """Return the value that *steps* lead to from *value*, or `ABSENT`."""
    for step in steps:
        match step:
            case Order():
                pass
            case Key(name=name):
                value = value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
            case _:
                value = _item_at(value, step) if isinstance(value, list) else ABSENT
    return value


def _item_at(items: list[Any], step: Index | Select | Member) -> Value:
    if isinstance(step, Index):
        return items[step.index] if step.index < len(items) else ABSENT
    keys, identity = target_of(step)
    return next((item for item in items if identity_of(item, keys) == identity), ABSENT)
