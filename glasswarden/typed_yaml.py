"""YAML that is checked against a type: a value out, or the line and column of the mistake.

YAML is read as nodes, which know their places; the values are checked by msgspec, and a complaint
about a value is traced back to its node.
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
"""What the parser's own functions raise at a scalar that is not what its form or tag promises."""

DEEPEST: Final = 50
"""Levels that no file of ours has."""

_STEP: Final = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]")


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong in a file, and where; lines and columns count from one."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


class TextInvalid(Exception):
    """The text does not say what its type wants; mend what `mistake` names."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


@dataclass(frozen=True, slots=True)
class Typed(Generic[T]):
    """What a text says, and where it says it."""

    value: T
    root: yaml.Node

    def mistake(self, place: str, message: str) -> Mistake:
        """Return that *message* applies to what stands at *place*, such as `.rules[2].name`."""
        return _at(_node_at(self.root, place), message)


def parse_typed(text: str, kind: type[T], noun: str) -> Typed[T]:
    """Return what *text* says as a *kind*, or raise `TextInvalid`; *noun* is what it is called."""
    root = _compose(text, noun)
    _refuse_odd_keys(root)
    try:
        value = msgspec.convert(_value(root, noun), kind)
    except msgspec.ValidationError as error:
        raise TextInvalid(_mistake(root, str(error), msgspec.json.schema(kind))) from error
    return Typed(value, root)


def _compose(text: str, noun: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise TextInvalid(_unreadable(error)) from error
    except yaml.YAMLError as error:
        raise TextInvalid(Mistake(1, 1, f"not YAML: {error}")) from error
    except RecursionError as error:
        raise TextInvalid(_too_deep(text, noun)) from error
    if not isinstance(root, yaml.MappingNode):
        raise TextInvalid(Mistake(1, 1, f"a {noun} is a mapping that begins with apiVersion"))
    return root


def _too_deep(text: str, noun: str) -> Mistake:
    """Return where *text* is nested deeper than anything that a *noun* could hold."""
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


def _unreadable(error: yaml.MarkedYAMLError) -> Mistake:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Mistake(line, column, f"not YAML: {error.problem or error.context}")


def _refuse_odd_keys(root: yaml.Node) -> None:
    """Raise where a key is no text, or stands twice, of which the parser takes the last.

    A key that YAML reads as a number or a date is one that nobody here asks for by that name.
    """
    for node in _nodes(root):
        if not isinstance(node, yaml.MappingNode):
            continue
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise TextInvalid(_at(key, "a key is text, neither a list nor a mapping"))
            if key.tag not in _KEY_TAGS:
                raise TextInvalid(_at(key, f"the key {key.value!r} is no text: put it in quotes"))
            if key.value in seen:
                raise TextInvalid(_at(key, f"the key {key.value!r} stands here twice"))
            seen.add(key.value)


def _nodes(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield every node below *root*, each once: an alias leads to a node that was seen."""
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


def _value(root: yaml.Node, noun: str) -> Any:  # noqa: ANN401 - whatever the YAML holds
    try:
        return yaml.SafeLoader("").construct_document(root)
    except yaml.MarkedYAMLError as error:
        raise TextInvalid(_unreadable(error)) from error
    except RecursionError as error:
        raise TextInvalid(_at(root, f"nested too deep for a {noun}")) from error
    except _NO_VALUE as error:
        node = next(filter(_has_no_value, _nodes(root)), root)
        raise TextInvalid(_at(node, f"no value that YAML knows: {node.value!r}")) from error


def _has_no_value(node: yaml.Node) -> bool:
    """Tell whether *node* is a date that is none, or a number that is none by its tag."""
    if not isinstance(node, yaml.ScalarNode):
        return False
    try:
        yaml.SafeLoader("").construct_document(node)
    except _NO_VALUE:
        return True
    return False


def _mistake(root: yaml.Node, complaint: str, schema: dict[str, Any]) -> Mistake:
    """Return msgspec's *complaint* with its place in the file, and a suggestion where one fits."""
    parts = _COMPLAINT.fullmatch(complaint)
    assert parts is not None  # noqa: S101 - every part of the pattern is optional
    place = parts["place"] or ""
    node = _node_at(root, place)
    unknown = _UNKNOWN.fullmatch(parts["text"])
    if unknown is not None:
        key = unknown["key"]
        known = sorted(_schema_at(schema, place).get("properties", {}))
        return _at(_key_node(node, key), f"unknown key {key!r}{_suggestion(key, known)}")
    allowed = _schema_at(schema, place).get("enum", [])
    hint = _suggestion(str(node.value), allowed) if allowed else ""
    return _at(node, f"{_in_words(parts['text'], place)}{hint}")


def _in_words(text: str, place: str) -> str:
    where = place.removeprefix(".")
    words = f"{text[0].lower()}{text[1:]}".replace("enum value", "value").replace("`", "")
    return f"{where}: {words}" if where else words


def _node_at(root: yaml.Node, place: str) -> yaml.Node:
    """Return the node that *place* leads to, or the last one on the way that exists."""
    node = root
    for step in _STEP.finditer(place):
        below = _child(node, step)
        if below is None:
            break
        node = below
    return node


def _child(node: yaml.Node, step: re.Match[str]) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step["key"]), None)
    if isinstance(node, yaml.SequenceNode) and step["index"] is not None:
        items: list[yaml.Node] = node.value
        return items[int(step["index"])]
    return None


def _key_node(node: yaml.Node, name: str) -> yaml.Node:
    if isinstance(node, yaml.MappingNode):
        return next((key for key, _ in node.value if key.value == name), node)
    return node


def _schema_at(schema: dict[str, Any], place: str) -> dict[str, Any]:
    """Return what *schema* says of *place*."""
    here = _resolved(schema, schema)
    for step in _STEP.finditer(place):
        here = here.get("properties", {}).get(step["key"]) or here.get("items") or {}
        here = _resolved(schema, here)
    return here


def _resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return *part*, or the definition that it refers to."""
    if "$ref" not in part:
        return part
    definition: dict[str, Any] = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return definition


def _suggestion(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known here: {', '.join(known)}" if known else ""


def _at(node: yaml.Node, message: str) -> Mistake:
    return Mistake(node.start_mark.line + 1, node.start_mark.column + 1, message)
