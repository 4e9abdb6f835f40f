"""YAML that is validated against a type: returns a value, or the line and column of the mistake.

YAML is parsed to nodes, which know their position; msgspec validates the values, and an error about
a value is traced back to its node.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec
import yaml

T = TypeVar("T")

_COMPLAINT: Final = re.compile(
    r"(?P<text>.*?)(?: - at (?P<key>`key` in )?`\$(?P<place>.*)`)?", re.DOTALL
)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)
_KEY_TAGS: Final = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"}
_NO_VALUE: Final = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError)
"""The parser's own exceptions for a scalar that does not match its form or tag."""

DEEPEST: Final = 50
"""The limit on nesting; no valid file reaches it."""

_STEP: Final = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]")


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error in a file, with its position; lines and columns count from one."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


class TextInvalid(Exception):
    """The text does not match its type; correct what `mistake_at` names."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


@dataclass(frozen=True, slots=True)
class TypedText(Generic[T]):
    """The value of a text, with the positions of its parts."""

    value: T
    root: yaml.Node

    def mistake_at(self, place: str, message: str) -> Mistake:
        """Return *message* with the position of *place*, such as `.rules[2].name`."""
        return _mistake_at(_node_at(self.root, place), message)


def parse_typed(text: str, kind: type[T], noun: str) -> TypedText[T]:
    """Return *text* as a *kind*, or raise `TextInvalid`; *noun* names the kind in messages."""
    root = _compose(text, noun)
    _reject_odd_keys(root)
    try:
        value = msgspec.convert(_construct_value(root, noun), kind)
    except msgspec.ValidationError as error:
        raise TextInvalid(_locate_complaint(root, str(error), msgspec.json.schema(kind))) from error
    return TypedText(value, root)


def _compose(text: str, noun: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise TextInvalid(_mistake_of(error)) from error
    except yaml.YAMLError as error:
        raise TextInvalid(Mistake(1, 1, f"not YAML: {error}")) from error
    except RecursionError as error:
        raise TextInvalid(_find_too_deep(text, noun)) from error
    if not isinstance(root, yaml.MappingNode):
        raise TextInvalid(Mistake(1, 1, f"a {noun} is a mapping that begins with apiVersion"))
    return root


def _find_too_deep(text: str, noun: str) -> Mistake:
    """Return where *text* is nested deeper than `DEEPEST`."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            mark = event.start_mark
            return Mistake(mark.line + 1, mark.column + 1, f"nested too deep for a {noun}")
    return Mistake(1, 1, f"nested too deep for a {noun}")


def _mistake_of(error: yaml.MarkedYAMLError) -> Mistake:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Mistake(line, column, f"not YAML: {error.problem or error.context}")


def _reject_odd_keys(root: yaml.Node) -> None:
    """Raise if a key is not text, or is duplicate: the parser would use the last one.

    A key that YAML reads as a number or a date cannot be the name of a field.
    """
    for node in _walk_nodes(root):
        if not isinstance(node, yaml.MappingNode):
            continue
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise TextInvalid(_mistake_at(key, "a key must be text, not a list or a mapping"))
            if key.tag not in _KEY_TAGS:
                raise TextInvalid(
                    _mistake_at(key, f"the key {key.value!r} is not text: put it in quotes")
                )
            if key.value in seen:
                raise TextInvalid(_mistake_at(key, f"the key {key.value!r} is duplicate"))
            seen.add(key.value)


def _walk_nodes(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield every node below *root*, each once: an alias leads to a node again."""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting.extend(part for pair in node.value for part in pair)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


def _construct_value(root: yaml.Node, noun: str) -> Any:  # noqa: ANN401 - whatever the YAML holds
    try:
        return yaml.SafeLoader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        raise TextInvalid(_mistake_of(error)) from error
    except RecursionError as error:
        raise TextInvalid(_mistake_at(root, f"nested too deep for a {noun}")) from error
    except _NO_VALUE as error:
        node = next(filter(_has_no_value, _walk_nodes(root)), root)
        raise TextInvalid(_mistake_at(node, f"not a valid YAML value: {node.value!r}")) from error


def _has_no_value(node: yaml.Node) -> bool:
    """Return whether *node* is an invalid date, or a number that is invalid by its tag."""
    if not isinstance(node, yaml.ScalarNode):
        return False
    try:
        yaml.SafeLoader("").construct_document(node)
    except _NO_VALUE:
        return True
    return False


def _locate_complaint(root: yaml.Node, complaint: str, schema: dict[str, Any]) -> Mistake:
    """Return msgspec's *complaint* with its place in the file, and a suggestion where one fits."""
    parts = _COMPLAINT.fullmatch(complaint)
    assert parts is not None  # noqa: S101 - every part of the pattern is optional
    place = parts["place"] or ""
    node = _node_at(root, place)
    unknown = _UNKNOWN.fullmatch(parts["text"])
    if unknown is not None:
        key = unknown["key"]
        known = sorted(_schema_at(schema, place).get("properties", {}))
        return _mistake_at(_find_key_node(node, key), f"unknown key {key!r}{_suggest(key, known)}")
    allowed = _schema_at(schema, place).get("enum", [])
    hint = _suggest(str(node.value), allowed) if allowed else ""
    return _mistake_at(node, f"{_describe_complaint(parts['text'], place)}{hint}")


def _describe_complaint(text: str, place: str) -> str:
    where = place.removeprefix(".")
    words = f"{text[0].lower()}{text[1:]}".replace("enum value", "value").replace("`", "")
    return f"{where}: {words}" if where else words


def _node_at(root: yaml.Node, place: str) -> yaml.Node:
    """Return the node that *place* leads to, or the last one on the way that exists."""
    node = root
    for step in _STEP.finditer(place):
        below = _child_of(node, step)
        if below is None:
            break
        node = below
    return node


def _child_of(node: yaml.Node, step: re.Match[str]) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step["key"]), None)
    if isinstance(node, yaml.SequenceNode) and step["index"] is not None:
        items: list[yaml.Node] = node.value
        return items[int(step["index"])]
    return None


def _find_key_node(node: yaml.Node, name: str) -> yaml.Node:
    if isinstance(node, yaml.MappingNode):
        return next((key for key, _ in node.value if key.value == name), node)
    return node


def _schema_at(schema: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the part of *schema* for *place*."""
    here = _resolve_reference(schema, schema)
    for step in _STEP.finditer(place):
        here = here.get("properties", {}).get(step["key"]) or here.get("items") or {}
        here = _resolve_reference(schema, here)
    return here


def _resolve_reference(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return *part*, or the definition that it refers to."""
    if "$ref" not in part:
        return part
    definition: dict[str, Any] = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return definition


def _suggest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known here: {', '.join(known)}" if known else ""


def _mistake_at(node: yaml.Node, message: str) -> Mistake:
    return Mistake(node.start_mark.line + 1, node.start_mark.column + 1, message)
