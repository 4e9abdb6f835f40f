"""Live fields that Git does not declare and that somebody added, such as a variable or a container.

They are found by the managedFields of other managers. A field without a manager was filled in by
the API server or by a mutating webhook; of these, only whole items of lists can be distinguished
from defaults.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from correlator.detector.defaults import is_default
from correlator.detector.leaves import ItemIndex, forgets_emptiness
from glasswarden.kube.compare import ABSENT, Value, value_after
from glasswarden.kube.managed_fields import FieldsV1, parse_step
from glasswarden.kube.paths import ROOT, Index, Key, Path, Select, Step, path_of
from glasswarden.kube.schema import PLAIN, Shape

_Node: TypeAlias = tuple[Path, FieldsV1, Value, Value]
"""A place, what a manager holds there, and its declared and live values."""

_PODS: Final = (
    path_of("spec", "template", "spec"),
    path_of("spec"),
    path_of("spec", "jobTemplate", "spec", "template", "spec"),
)
_INJECTABLE: Final = ("initContainers", "containers", "volumes")
_TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105 - a name


class Addition(msgspec.Struct, frozen=True, gc=False):
    """A live field that is not declared."""

    path: Path
    live: Value


class ComparedObject(msgspec.Struct, frozen=True, gc=False):
    """What is declared and live of one object, and of which kind it is."""

    kind: str
    declared: Value
    live: Value
    shape: Shape


def find_additions(
    obj: ComparedObject, fields: FieldsV1, *, inside: bool = True
) -> Iterator[Addition]:
    """Yield what *fields*, which somebody holds, add to what is declared of *obj*.

    *inside* says whether to look into what is declared and held as a whole: whoever changed it may
    have added something there, but so has the API server to what the owner applied.
    """
    says_nothing = _is_meaningless if obj.shape.typed else _is_null
    pending: list[_Node] = [(ROOT, fields, obj.declared, obj.live)]
    while pending:
        path, node, declared, live = pending.pop()
        for step, child in _children_of(node):
            below = value_after(live, (step,))
            known = _declared_at(declared, step)
            place = path / step
            if below is ABSENT:
                continue
            if known is not ABSENT and known is not None:
                if _is_whole(child):
                    if not inside:
                        continue
                    yield from _find_extras(place, known, below, obj)
                else:
                    pending.append((place, child, known, below))
            elif says_nothing(place, below, obj.kind, live):
                continue
            elif not child or not isinstance(step, Key):
                yield Addition(place, below)
            else:
                pending.append((place, child, ABSENT, below))


def find_injected(declared: Value, live: Value, holds: tuple[FieldsV1, ...]) -> Iterator[Addition]:
    """Yield the containers and volumes of a pod's template that are neither declared nor held.

    A mutating webhook's work is put down to no manager.
    """
    for pod in _PODS:
        for name in _INJECTABLE:
            path = pod / Key(name)
            items, known = value_after(live, path.steps), value_after(declared, path.steps)
            if not isinstance(items, list):
                continue
            for item in items:
                step = Select((("name", item.get("name")),)) if isinstance(item, dict) else None
                if step is None or _declared_at(known, step) is not ABSENT:
                    continue
                is_held = any(_has_field(node, (*path.steps, step)) for node in holds)
                if not is_held and not str(item.get("name")).startswith(_TOKEN_VOLUME):
                    yield Addition(path / step, item)


def _children_of(node: FieldsV1) -> Iterator[tuple[Step, FieldsV1]]:
    for name, child in node.items():
        step = parse_step(name)
        if step is not None and isinstance(child, dict):
            yield step, child


def _is_whole(node: FieldsV1) -> bool:
    """Return whether a manager holds all that stands there, whatever it is."""
    return not node


def _declared_at(declared: Value, step: Step) -> Value:
    match step:
        case Select(keys=keys) if isinstance(declared, list):
            index = _find(declared, dict(keys))
            return ABSENT if index is None else declared[index]
        case _:
            return value_after(declared, (step,))


def _find(declared: list[Any], wanted: dict[str, Any]) -> int | None:
    # A manifest may leave merge keys out that the API server fills in, so the keys that it names
    # decide, item by item.
    for index, item in enumerate(declared):
        named = tuple(key for key in wanted if isinstance(item, dict) and key in item)
        if (
            named
            and ItemIndex([wanted], named).index_of(item) is not None
            and _is_filled(item, wanted)
        ):
            return index
    return None


def _is_filled(item: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(key in item or key != "protocol" or wanted[key] == "TCP" for key in wanted)


def _find_extras(
    path: Path, declared: Value, live: Value, obj: ComparedObject
) -> Iterator[Addition]:
    """Yield what *live* holds and *declared* does not, inside a value that is held as a whole."""
    says_nothing = _is_meaningless if obj.shape.typed else _is_null
    pending = [(path, declared, live)]
    while pending:
        path, declared, live = pending.pop()
        if isinstance(declared, dict) and isinstance(live, dict):
            for key, value in live.items():
                place = path / Key(key)
                if declared.get(key) is not None:
                    pending.append((place, declared[key], value))
                elif not says_nothing(place, value, obj.kind, live):
                    yield Addition(place, value)
        elif isinstance(declared, list) and isinstance(live, list) and len(declared) == len(live):
            pairs = zip(declared, live, strict=True)
            pending += [(path / Index(index), *pair) for index, pair in enumerate(pairs)]


def _is_null(_: Path, value: Value, __: str, ___: Value) -> bool:
    return value is None


def _is_meaningless(path: Path, value: Value, kind: str, around: Value) -> bool:
    if value is None:
        return True
    step, above = path.step, path.parent or ROOT
    # An empty selector selects everything: that is not nothing.
    is_forgotten = isinstance(step, Key) and forgets_emptiness(step.name, above, PLAIN)
    return is_default(path, value, kind, around) or (value in ({}, []) and is_forgotten)


def _has_field(fields: FieldsV1, steps: tuple[Step, ...]) -> bool:
    """Return whether *fields* hold something at the end of *steps*, or all that contains it."""
    node = fields
    for step in steps:
        found = next((child for other, child in _children_of(node) if other == step), None)
        if found is None:
            return False
        if not found:
            return True
        node = found
    return True
