"""A value with one field set, by the path that a record gives it.

Live objects are more complete than manifests: a merge key that the API server fills in may be
missing, and then the item that is meant is the only one that fits.
"""

from typing import Any, Final

from correlator.backport.errors import CannotPlace
from correlator.backport.rewrite import Location
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.identity import identity_of, wanted_by
from glasswarden.kube.paths import Index, Key, Member, Order, Select, Step

_FILLED_IN: Final = {"protocol": "TCP"}

Steps = tuple[Step, ...]


def found_at(value: Value, steps: Steps) -> Value:
    """Return what *steps* lead to from *value*, `ABSENT` if nothing."""
    at = location_of(value, steps)
    if at is None:
        return ABSENT
    for step in at:
        value = value[step]
    return value


def location_of(value: Value, steps: Steps) -> Location | None:
    """Return *steps* as keys and positions, nothing where they lead nowhere."""
    at: list[str | int] = []
    for step in steps:
        key = _key_in(value, step)
        if key is None:
            return None
        at.append(key)
        value = value[key]
    return tuple(at)


def with_value(value: Value, steps: Steps, new: Value, live: Value = ABSENT) -> Value:
    """Return *value* with *new* where *steps* lead; `ABSENT` takes away what stands there.

    What is missing on the way is made. *live* is what *value* is like live: an item that is added
    to a list goes where it is there.
    """
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if isinstance(step, Order):
        raise CannotPlace("only the order of a list differs, which is not written back")
    below = found_at(live, (step,))
    if isinstance(step, Key):
        return _with_key(value, step.name, rest, new, below)
    return _with_item(value, step, rest, new, live)


def _with_key(value: Value, name: str, rest: Steps, new: Value, below: Value) -> Value:
    around = {} if value is ABSENT or value is None else value
    if not isinstance(around, dict):
        raise CannotPlace(f"there is no map to hold {name!r}")
    inside = with_value(around.get(name, ABSENT), rest, new, below)
    if inside is not ABSENT:
        return {**around, name: inside}
    return (
        {key: each for key, each in around.items() if key != name}
        if value is not ABSENT
        else ABSENT
    )


def _with_item(
    value: Value, step: Select | Member | Index, rest: Steps, new: Value, live: Value
) -> Value:
    items = [] if value is ABSENT or value is None else value
    if not isinstance(items, list):
        raise CannotPlace("there is no list to hold the item")
    position = _position(items, step)
    if position is None:
        return _with_new_item(items, step, rest, new, live)
    inside = with_value(items[position], rest, new, found_at(live, (step,)))
    after = items[position + 1 :]
    return [*items[:position], *(() if inside is ABSENT else (inside,)), *after]


def _with_new_item(
    items: list[Any], step: Select | Member | Index, rest: Steps, new: Value, live: Value
) -> list[Any]:
    if new is ABSENT:
        return items
    if isinstance(step, Index) and step.index != len(items):
        raise CannotPlace("the list there is not the one that is live")
    start: Value = dict(step.keys) if isinstance(step, Select) else ABSENT
    item = with_value(start, rest, new, found_at(live, (step,)))
    position = _place_of(items, step, live)
    return [*items[:position], item, *items[position:]]


def _place_of(items: list[Any], step: Select | Member | Index, live: Value) -> int:
    """Return where the new item goes: behind the one that it follows in the live list."""
    if isinstance(step, Index) or not isinstance(live, list):
        return len(items)
    keys, _ = wanted_by(step)
    there = _position(live, step)
    for before in reversed(live[: there or 0]):
        identity = identity_of(before, keys)
        for position, item in enumerate(items):
            if identity_of(_complete(item, keys), keys) == identity is not None:
                return position + 1
    return 0 if there == 0 else len(items)


def _key_in(value: Value, step: Step) -> str | int | None:
    if isinstance(step, Key):
        return step.name if isinstance(value, dict) and step.name in value else None
    if isinstance(step, Order) or not isinstance(value, list):
        return None
    return _position(value, step)


def _position(items: list[Any], step: Select | Member | Index) -> int | None:
    if isinstance(step, Index):
        return step.index if step.index < len(items) else None
    keys, identity = wanted_by(step)
    for position, item in enumerate(items):
        if identity_of(_complete(item, keys), keys) == identity:
            return position
    return None


def _complete(item: Any, keys: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON value
    if not isinstance(item, dict):
        return item
    return {key: default for key, default in _FILLED_IN.items() if key in keys} | item
