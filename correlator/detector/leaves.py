"""The comparison of declared fields: which of them have another value live, or none.

Only declared fields are compared, so defaults never show. Lists are compared as Kubernetes merges
them; where the built-in types do not define merge keys, managedFields do.

Nothing here recurses, and no cost grows faster than the size of the declared value.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.empty_values import MAPS, POINTERS
from glasswarden.kube.equality import (
    is_identical,
    is_same_int_or_string,
    is_same_quantity,
    is_same_scalar,
    is_surely_equal,
)
from glasswarden.kube.managed_fields import Hints, hints_below, items_from_hints
from glasswarden.kube.paths import ROOT, Index, Key, Member, Order, Path, Select, Step
from glasswarden.kube.schema import KeyedItems, Keys, Shape, identity_of, index_by_identity, step_to

_KEY_DEFAULTS: Final = {"protocol": "TCP"}
"""Merge keys that the API server fills in, so that a manifest may leave them out."""

_ORDERED: Final = frozenset({"initContainers", "env"})
"""Lists with merge keys whose order means something: steps one after another, and variables that
may refer to earlier ones."""

_SCALARS: Final = (str, int, float, bool, type(None))


class Difference(msgspec.Struct, frozen=True, gc=False):
    """A declared field that is not so."""

    path: Path
    declared: Value
    live: Value


class _FieldPair(msgspec.Struct, frozen=True, gc=False):
    """The same place in what is declared and what is live."""

    path: Path
    declared: Value
    live: Value
    shape: Shape
    hints: Hints
    forgets: bool = False
    """Whether an empty value here is the same as none."""


def find_differences(
    declared: Value, live: Value, shape: Shape, hints: Hints
) -> Iterator[Difference]:
    """Yield the declared places whose live value differs, each as small as it can be, in order."""
    pending = [_FieldPair(ROOT, declared, live, shape, hints)]
    while pending:
        place = pending.pop()
        parts = _split(place)
        if parts is None:
            yield Difference(place.path, place.declared, place.live)
        else:
            pending += [part for part in reversed(parts) if not _is_same(part)]


def declares_nothing(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether *value* is null, zero, or holds nothing but such values."""
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.values()
        elif value:
            return False
    return True


def forgets_emptiness(name: str, around: Path, shape: Shape) -> bool:
    """Return whether the API server drops the field *name* of the object at *around* when empty."""
    inside = around.step
    in_map = isinstance(inside, Key) and inside.name in MAPS
    return shape.typed and not in_map and name not in POINTERS


def _is_same(place: _FieldPair) -> bool:
    declared, live = place.declared, place.live
    if declared is None:
        return True  # null declares nothing
    if live is ABSENT or live is None:
        return place.forgets and declares_nothing(declared)
    match place.shape.meaning:
        case "quantity" if is_same_quantity(declared, live):
            return True
        case "int-or-string" if is_same_int_or_string(declared, live):
            return True
    if isinstance(declared, dict | list):
        return is_surely_equal(declared, live) and (
            place.shape.typed or is_identical(declared, live)
        )
    return not isinstance(live, dict | list) and is_same_scalar(declared, live)


def _split(place: _FieldPair) -> list[_FieldPair] | None:
    """Return the places inside, or nothing where the place differs as a whole."""
    if isinstance(place.declared, dict) and isinstance(place.live, dict):
        return _pair_fields(place)
    if isinstance(place.declared, list) and isinstance(place.live, list):
        return _pair_items(place)
    return None


def _pair_fields(place: _FieldPair) -> list[_FieldPair]:
    parts = []
    for key, value in place.declared.items():
        forgets = forgets_emptiness(key, place.path, place.shape)
        parts.append(
            _new_pair(place, Key(key), value, place.live.get(key, ABSENT), forgets=forgets)
        )
    return parts


def _pair_items(place: _FieldPair) -> list[_FieldPair] | None:
    match place.shape.items or items_from_hints(place.hints):
        case KeyedItems(keys=keys):
            return _pair_by_keys(place, keys)
        case "set":
            return _pair_by_value(place)
        case _:
            return _pair_by_index(place)


def _pair_by_keys(place: _FieldPair, keys: Keys) -> list[_FieldPair] | None:
    lookup = ItemIndex(place.live, keys)
    parts = []
    order: list[tuple[int, str]] = []
    for item in place.declared:
        index = lookup.index_of(item)
        live = ABSENT if index is None else place.live[index]
        step = _step_to(item, live, keys)
        if step is None or not lookup.is_able:
            return _pair_by_index(place)
        parts.append(_new_pair(place, step, item, live))
        if index is not None:
            order.append((index, str(step)))
    return parts + _find_reordered(place, order)


class ItemIndex:
    """Finds items of a list by their merge keys, which a manifest need not all name."""

    def __init__(self, items: list[Any], keys: Keys) -> None:
        self._keys = keys
        self._items = [_complete(item) for item in items]
        self._index = index_by_identity(self._items, keys)

    @property
    def is_able(self) -> bool:
        """Whether every item has an identity of its own."""
        return self._index is not None

    def index_of(self, wanted: Any) -> int | None:  # noqa: ANN401 - any JSON value
        """Return the position of the one item with the keys that *wanted* names."""
        wanted = _complete(wanted)
        if not isinstance(wanted, dict) or self._index is None:
            return None
        if (identity := identity_of(wanted, self._keys)) is not None:
            found = self._index.get(identity)
            return None if found is None else found[0]
        named = tuple(key for key in self._keys if key in wanted)
        identity = identity_of(wanted, named)
        positions = [
            index
            for index, item in enumerate(self._items)
            if named and identity_of(item, named) == identity
        ]
        return positions[0] if len(positions) == 1 else None


def _step_to(declared: Any, live: Value, keys: Keys) -> Select | Member | None:  # noqa: ANN401 - JSON
    """Return the step to an item, by the live item's keys where there is one."""
    for item in (live, _complete(declared)):
        if isinstance(item, dict) and identity_of(item, keys) is not None:
            return step_to(item, keys)
    return None


def _find_reordered(place: _FieldPair, order: list[tuple[int, str]]) -> list[_FieldPair]:
    step = place.path.step
    if order == sorted(order, key=lambda each: each[0]):
        return []
    if not isinstance(step, Key) or step.name not in _ORDERED:
        return []
    wanted = [selector for _, selector in order]
    found = [selector for _, selector in sorted(order, key=lambda each: each[0])]
    return [_new_pair(place, Order(), wanted, found)]


def _pair_by_value(place: _FieldPair) -> list[_FieldPair] | None:
    if not all(isinstance(item, _SCALARS) for item in place.declared):
        return None
    return [
        _new_pair(place, Member(item), item, ABSENT)
        for item in place.declared
        if not any(is_same_scalar(item, other) for other in place.live)
    ]


def _pair_by_index(place: _FieldPair) -> list[_FieldPair] | None:
    """Return the items side by side; a list of plain values, or of another length, is one value."""
    if len(place.declared) != len(place.live) or not all(
        isinstance(item, dict | list) for item in place.declared
    ):
        return None
    pairs = enumerate(zip(place.declared, place.live, strict=True))
    return [_new_pair(place, Index(index), declared, live) for index, (declared, live) in pairs]


def _new_pair(
    place: _FieldPair, step: Step, declared: Value, live: Value, *, forgets: bool = False
) -> _FieldPair:
    shape = Shape(items="atomic") if isinstance(step, Order) else place.shape.below(step)
    hints = hints_below(place.hints, step)
    return _FieldPair(place.path / step, declared, live, shape, hints, forgets)


def _complete(item: Any) -> Any:  # noqa: ANN401 - any JSON value
    return {**_KEY_DEFAULTS, **item} if isinstance(item, dict) else item
