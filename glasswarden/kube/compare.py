"""Two versions of a value, side by side: where they differ.

Lists are compared as Kubernetes merges them: associative lists by their merge keys, sets by value,
atomic lists as a whole, others by index. The built-in types' schema says which is which; where it
knows nothing, FieldsV1 does. A list whose items lack the keys they should have, or have the same
keys twice, differs as a whole.

Nothing here recurses, and no cost grows faster than the values' size.
"""

from collections.abc import Iterator
from enum import Enum
from itertools import count, islice, zip_longest
from operator import eq, is_not
from typing import Any, Final, TypeAlias

import msgspec

from glasswarden.kube.equality import identical, same_scalar
from glasswarden.kube.identity import Identified, Keys, identified, step_to
from glasswarden.kube.managed import FieldsV1, items_of, render_step
from glasswarden.kube.paths import ROOT, Index, Key, Order, Path, Step
from glasswarden.kube.quantity import same_int_or_string, same_quantity
from glasswarden.kube.schema import UNKNOWN, Items, Keyed, Shape


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
"""Where a value would stand if there were one: not the same as null."""

Value: TypeAlias = Any
"""A JSON value, or `ABSENT`."""

_Hints: TypeAlias = tuple[FieldsV1, ...]
_Row: TypeAlias = tuple[Any, Value, Value]
"""Where two values stand within a map or list, and the values."""

_NOWHERE: Final = (-1, ABSENT)

_SHORTCUT: Final = 24
"""Levels on which equal parts are skipped at a glance. A glance looks at everything below, so doing
so on every level of a deep object would cost its depth times its size."""


class Pair(msgspec.Struct, frozen=True):
    """The same place in both versions."""

    path: Path
    old: Value
    new: Value
    shape: Shape
    above: _Hints
    """What managedFields know of the place that contains this one."""
    level: int = 0
    whole: bool = False
    """Differs as a whole: what is inside does not matter."""
    position: int | None = None
    """Where in its list an added item stands."""


def differences(old: Value, new: Value, shape: Shape, hints: _Hints) -> Iterator[Pair]:
    """Yield the places where *new* differs from *old*, each as small as it can be, in order."""
    pending: list[Iterator[Pair]] = [iter((Pair(ROOT, old, new, shape, hints),))]
    while pending:
        pair = next(pending[-1], None)
        if pair is None:
            pending.pop()
        elif (parts := _parts(pair)) is not None:
            pending.append(parts)
        else:
            yield pair


def _parts(pair: Pair) -> Iterator[Pair] | None:
    """Return the differing places inside *pair*, or nothing when it differs as a whole."""
    if pair.whole:
        return None
    if isinstance(pair.old, dict) and isinstance(pair.new, dict):
        return _fields(pair)
    if isinstance(pair.old, list) and isinstance(pair.new, list):
        return _items(pair)
    return None


def _fields(pair: Pair) -> Iterator[Pair]:
    old, new, hints = pair.old, pair.new, _hints(pair)
    kept = [(key, value, new.get(key, ABSENT)) for key, value in old.items()]
    for key, value, other in _unequal(pair, kept):
        yield from _child(pair, Key(key), value, other, hints)
    for key, value in new.items():
        if key not in old:
            yield from _child(pair, Key(key), ABSENT, value, hints)


def _items(pair: Pair) -> Iterator[Pair]:
    hints = _hints(pair)
    match pair.shape.items or _learned(hints):
        case Keyed(keys=keys):
            return _by_identity(pair, hints, keys)
        case "set":
            return _by_identity(pair, hints, ())
        case "atomic":
            return _whole(pair)
        case _:
            return _by_index(pair, hints)


def _by_index(pair: Pair, hints: _Hints) -> Iterator[Pair]:
    rows = zip_longest(count(), pair.old, pair.new, fillvalue=ABSENT)
    size = max(len(pair.old), len(pair.new))
    for index, old, new in _unequal(pair, list(islice(rows, size))):
        yield from _child(pair, Index(index), old, new, hints)


def _by_identity(pair: Pair, hints: _Hints, keys: Keys) -> Iterator[Pair]:
    before, after = identified(pair.old, keys), identified(pair.new, keys)
    if before is None or after is None:
        yield from _whole(pair)
        return
    kept = [(old, old, after.get(identity, _NOWHERE)[1]) for identity, (_, old) in before.items()]
    for _, old, new in _unequal(pair, kept):
        yield from _child(pair, step_to(old, keys), old, new, hints)
    for identity, (index, new) in after.items():
        if identity not in before:
            yield from _child(pair, step_to(new, keys), ABSENT, new, hints, position=index)
    yield from _reordered(pair, before, after, keys)


def _reordered(pair: Pair, before: Identified, after: Identified, keys: Keys) -> Iterator[Pair]:
    """Yield the order of the items that stayed, as selectors, where it is not what it was."""
    old = [item for identity, (_, item) in before.items() if identity in after]
    new = [before[identity][1] for identity in after if identity in before]
    if any(map(is_not, old, new)):
        was, now = ([str(step_to(item, keys)) for item in order] for order in (old, new))
        yield Pair(pair.path / Order(), was, now, UNKNOWN, (), whole=True)


def _whole(pair: Pair) -> Iterator[Pair]:
    if not identical(pair.old, pair.new):
        yield msgspec.structs.replace(pair, whole=True)


def _child(
    pair: Pair, step: Step, old: Value, new: Value, hints: _Hints, position: int | None = None
) -> Iterator[Pair]:
    shape = pair.shape.at(step.name) if isinstance(step, Key) else pair.shape.item
    if not _same_meaning(old, new, shape):
        yield Pair(pair.path / step, old, new, shape, hints, pair.level + 1, position=position)


def _hints(pair: Pair) -> _Hints:
    """Return what managedFields know of this very place."""
    if not pair.above or pair.path.step is None:
        return pair.above
    name = render_step(pair.path.step)
    nodes = [above.get(name) for above in pair.above]
    return tuple([node for node in nodes if isinstance(node, dict)])


def _learned(hints: _Hints) -> Items | None:
    return next((items for node in hints if (items := items_of(node)) is not None), None)


def _unequal(pair: Pair, rows: list[_Row]) -> list[_Row]:
    """Return those of *rows* whose values differ, or may: then a look inside will tell."""
    if pair.level < _SHORTCUT:
        # The API server checks the types of its own kinds; elsewhere true may have become 1, which
        # Python does not see.
        same = eq if pair.shape.typed else _exactly_equal
        try:
            return [row for row in rows if not same(row[1], row[2])]
        except RecursionError:
            pass
    return [row for row in rows if not _same_leaf(row[1], row[2])]


def _exactly_equal(old: Value, new: Value) -> bool:
    return bool(old == new) and (type(old) is type(new) is str or identical(old, new))


def _same_leaf(old: Value, new: Value) -> bool:
    return not isinstance(old, dict | list) and same_scalar(old, new)


def _same_meaning(old: Value, new: Value, shape: Shape) -> bool:
    match shape.meaning:
        case "quantity":
            return same_quantity(old, new)
        case "int-or-string":
            return same_int_or_string(old, new)
        case _:
            return False
