"""A live object as YAML, line by line, each with the path of the field that stands there."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from glasswarden.kube.identity import identified, step_to
from glasswarden.kube.managed import Entry, Hints, hints_below, items_by
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.paths import ROOT, Index, Key, Path, Step
from glasswarden.kube.schema import Keyed, Shape, shape_of

DEEPEST: Final = 40
"""What is nested deeper stands on one line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. A line that only opens a map or a list sets nothing."""

    text: str
    path: Path
    value: Any
    sets: bool


@dataclass(frozen=True, slots=True)
class _Node:
    """A value on its way into lines."""

    path: Path
    value: Any
    shape: Shape
    hints: Hints
    indent: int


def lines_of(
    obj: Object, entries: tuple[Entry, ...], shown: Callable[[Path, Any], Any]
) -> list[Line]:
    """Return *obj* as lines; *shown* gives what may be seen of a value."""
    root = _Node(ROOT, obj, shape_of(ref_of(obj)), tuple(entry.fields for entry in entries), 0)
    return list(_below(root, shown))


def _below(node: _Node, shown: Callable[[Path, Any], Any]) -> Iterator[Line]:
    margin = "  " * node.indent
    for child, label in _children(node):
        if not _is_nested(child):
            yield Line(
                f"{margin}{label} {scalar(shown(child.path, child.value))}",
                child.path,
                child.value,
                sets=True,
            )
            continue
        inside = list(_below(child, shown))
        if label == "-" and isinstance(child.value, dict):
            # The first field of an item stands behind its dash.
            first = inside.pop(0)
            text = f"{margin}- {first.text.removeprefix('  ' * child.indent)}"
            yield Line(text, first.path, first.value, first.sets)
        else:
            yield Line(f"{margin}{label}", child.path, child.value, sets=False)
        yield from inside


def _is_nested(node: _Node) -> bool:
    return isinstance(node.value, dict | list) and bool(node.value) and node.indent < DEEPEST


def _children(node: _Node) -> Iterator[tuple[_Node, str]]:
    if isinstance(node.value, dict):
        for key, value in node.value.items():
            yield _child(node, Key(key), value, node.shape.at(key)), f"{scalar(key)}:"
    else:
        for step, item in _items(node):
            yield _child(node, step, item, node.shape.item), "-"


def _child(node: _Node, step: Step, value: Any, shape: Shape) -> _Node:  # noqa: ANN401 - JSON
    hints = hints_below(node.hints, step)
    return _Node(node.path / step, value, shape, hints, node.indent + 1)


def _items(node: _Node) -> list[tuple[Step, Any]]:
    """Return the items of a list, each with the step that leads to it."""
    match node.shape.items or items_by(node.hints):
        case Keyed(keys=keys) if identified(node.value, keys):
            return [(step_to(item, keys), item) for item in node.value]
        case "set" if identified(node.value, ()):
            return [(step_to(item, ()), item) for item in node.value]
    return [(Index(index), item) for index, item in enumerate(node.value)]


def scalar(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return *value* as YAML on one line."""
    if isinstance(value, dict | list) or (isinstance(value, str) and not value.isprintable()):
        return json.dumps(value, ensure_ascii=True)
    text: str = yaml.safe_dump(value, allow_unicode=True, width=2**31)
    return text.removesuffix("\n").removesuffix("\n...")
