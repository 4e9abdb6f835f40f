"""The value that stands at a path of an object."""

from typing import Any

from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.identity import identity_of, wanted_by
from glasswarden.kube.paths import Index, Key, Member, Order, Path, Select, Step


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
