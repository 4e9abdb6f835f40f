"""Two versions of a value, side by side: where they differ.

Lists are compared as Kubernetes merges them: associative lists by their merge keys, sets by value,
atomic lists as a whole, others by index. The built-in types' schema says which is which; where it
knows nothing, FieldsV1 does. A list whose items lack the keys they should have, or have the same
keys twice, differs as a whole.

Nothing here recurses, and no cost grows faster than the values' size.

The value that stands at a path of an object.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from glasswarden.kube.equality import identical, same_int_or_string, same_quantity, same_scalar
from glasswarden.kube.managed_fields import Hints, hints_below, items_by
from glasswarden.kube.paths import ROOT, Fold, Index, Key, Member, Order, Path, Select, Step
from glasswarden.kube.schema import (
    Identified,
    Keyed,
    Keys,
    Shape,
    are_aligned,
    identified,
    identity_of,
    step_to,
    wanted_by,
)


class Absent:
    """The type of `ABSENT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"  # a copy is the one and only again


ABSENT: Final = Absent()
"""Where a value would stand if there were one: not the same as null."""

Value: TypeAlias = Any
"""A JSON value, or `ABSENT`."""

_Row: TypeAlias = tuple[Any, Value, Value]
"""Something that leads to two values, and the values."""

_Part: TypeAlias = tuple[Step, Value, Value, int | None]
"""A step to two values that differ, the values, and the position of an item that was added."""

_SHORTCUT: Final = 24
"""Levels on which equal parts are skipped at a glance. A glance looks at everything below, so doing
so on every level of a deep object would cost its depth times its size."""

_NOWHERE: Final = (-1, ABSENT)


class Pair(msgspec.Struct, frozen=True, gc=False):
    """The same place in both versions."""

    path: Path
    old: Value
    new: Value
    shape: Shape
    level: int = 0
    position: int | None = None
    """Where in its list an added item stands."""


def differences(old: Value, new: Value, shape: Shape, hints: Hints) -> Iterator[Pair]:
    """Yield the places where *new* differs from *old*, each as small as it can be, in order."""
    known = Fold(hints, _hints_after)
    pending = [Pair(ROOT, old, new, shape)]
    while pending:
        pair = pending.pop()
        if not _is_divisible(pair):
            yield pair
            continue
        parts = _fields(pair) if isinstance(pair.old, dict) else _items(pair, known)
        if parts is None:
            yield pair
        else:
            pending += [_below(pair, part) for part in reversed(parts)]


def _is_divisible(pair: Pair) -> bool:
    """Tell whether differences can be looked for inside: in two maps, or two lists."""
    return (
        type(pair.old) is type(pair.new)
        and isinstance(pair.old, dict | list)
        and not isinstance(pair.path.step, Order)
    )


def _fields(pair: Pair) -> list[_Part]:
    old, new = pair.old, pair.new
    others = [new.get(key, ABSENT) for key in old]
    kept: list[_Part] = [
        (Key(key), value, other, None)
        for key, value, other in _unequal(pair, old, old.values(), others)
        if not _same_meaning(value, other, pair.shape.at(key))
    ]
    return kept + [(Key(key), ABSENT, new[key], None) for key in new if key not in old]


def _items(pair: Pair, known: Fold[Hints]) -> list[_Part] | None:
    """Return the differing items, or nothing when the list differs as a whole."""
    match pair.shape.items or items_by(known.at(pair.path)):
        case Keyed(keys=keys):
            return _by_identity(pair, keys)
        case "set":
            return _by_identity(pair, ())
        case "atomic":
            return _as_whole(pair)
        case _:
            return _by_index(pair)


def _by_index(pair: Pair) -> list[_Part]:
    size = max(len(pair.old), len(pair.new))
    olds, news = (items + [ABSENT] * (size - len(items)) for items in (pair.old, pair.new))
    unequal = _unequal(pair, range(size), olds, news)
    return [(Index(index), old, new, None) for index, old, new in unequal]


def _by_identity(pair: Pair, keys: Keys) -> list[_Part] | None:
    if are_aligned(pair.old, pair.new, keys):
        return _paired(pair, keys, pair.old, pair.new)
    before, after = identified(pair.old, keys), identified(pair.new, keys)
    if before is None or after is None:
        return _as_whole(pair)
    counterparts = [after.get(identity, _NOWHERE)[1] for identity in before]
    added: list[_Part] = [
        (step_to(item, keys), ABSENT, item, index)
        for identity, (index, item) in after.items()
        if identity not in before
    ]
    paired = _paired(pair, keys, pair.old, counterparts)
    return paired + added + _reordered(before, after, keys)


def _paired(pair: Pair, keys: Keys, old: list[Value], new: list[Value]) -> list[_Part]:
    """Return the items of *old* that are not what stands at their place in *new*."""
    unequal = _unequal(pair, old, old, new)
    return [(step_to(item, keys), item, other, None) for item, _, other in unequal]


def _reordered(before: Identified, after: Identified, keys: Keys) -> list[_Part]:
    """Return the order of the items that stayed, as selectors, where it is not what it was."""
    old = [identity for identity in before if identity in after]
    new = [identity for identity in after if identity in before]
    if old == new:
        return []
    was, now = ([str(step_to(before[each][1], keys)) for each in order] for order in (old, new))
    return [(Order(), was, now, None)]


def _as_whole(pair: Pair) -> list[_Part] | None:
    return [] if identical(pair.old, pair.new) else None


def _below(pair: Pair, part: _Part) -> Pair:
    step, old, new, position = part
    return Pair(pair.path / step, old, new, pair.shape.below(step), pair.level + 1, position)


def _hints_after(above: Hints, path: Path) -> Hints:
    return above if path.step is None else hints_below(above, path.step)


def _unequal(
    pair: Pair, ways: Iterable[Any], olds: Iterable[Value], news: Iterable[Value]
) -> list[_Row]:
    """Return the values that differ, or may: then a look inside will tell. Each with its way."""
    # All three are gone through a second time where they are nested too deep for a glance.
    try:
        if pair.level < _SHORTCUT and pair.shape.typed:
            rows = zip(ways, olds, news, strict=True)
            return [(way, old, new) for way, old, new in rows if old != new]
        if pair.level < _SHORTCUT:
            rows = zip(ways, olds, news, strict=True)
            return [row for row in rows if not _exactly_equal(row[1], row[2])]
    except RecursionError:
        pass
    rows = zip(ways, olds, news, strict=True)
    return [row for row in rows if not _same_leaf(row[1], row[2])]


def _exactly_equal(old: Value, new: Value) -> bool:
    # The API server checks the types of its own kinds; elsewhere true may have become 1, which
    # Python does not see.
    if old != new:
        return False
    return identical(old, new) if isinstance(old, dict | list) else same_scalar(old, new)


def _same_leaf(old: Value, new: Value) -> bool:
    return not isinstance(old, dict | list) and same_scalar(old, new)


def _same_meaning(old: Value, new: Value, shape: Shape) -> bool:
    match shape.meaning:
        case None:
            return False
        case "quantity":
            return same_quantity(old, new)
        case "int-or-string":
            return same_int_or_string(old, new)


def value_at(value: Value, path: Path) -> Value:
    """Return what stands at *path* inside *value*, `ABSENT` if nothing does.

    The order of a list leads to the list itself.
    """
    return value_after(value, path.steps)


def value_after(value: Value, steps: tuple[Step, ...]) -> Value:
    """Return what *steps* lead to from *value*, `ABSENT` if nothing."""
    for step in steps:
        match step:
            case Order():
                pass
            case Key(name=name):
                value = value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
            case _:
                value = _item(value, step) if isinstance(value, list) else ABSENT
    return value


def _item(items: list[Any], step: Index | Select | Member) -> Value:
    if isinstance(step, Index):
        return items[step.index] if step.index < len(items) else ABSENT
    keys, identity = wanted_by(step)
    return next((item for item in items if identity_of(item, keys) == identity), ABSENT)
