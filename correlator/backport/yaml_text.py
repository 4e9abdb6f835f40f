"""The positions of values in the text of a YAML or JSON document, and values as such text.

Positions are offsets into the text. A collection ends with its last value, not after the comments
and blank lines that follow. Text is left unquoted only where every version of YAML reads it as
text.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import yaml

from correlator.backport.errors import CannotEdit
from correlator.declared.yaml_values import scalar_of

_PARSER: Final = getattr(yaml, "CLoader", yaml.Loader)
_SEPARATOR: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_BOM: Final = "\ufeff"
_NOT_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts; empty where only its key is written."""

    start: int
    end: int
    style: str
    """How it is quoted: nothing, `'`, `"`, `|` or `>`."""
    text: str


@dataclass(frozen=True, slots=True)
class Alias:
    """A value that stands somewhere else."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a map, and its value."""

    key: Scalar
    colon: int
    """Where the value may begin: behind the colon."""
    value: "Node"


@dataclass(frozen=True, slots=True)
class Map:
    """A map; `flow` means in braces."""

    start: int
    end: int
    flow: bool
    entries: tuple[Entry, ...]

    def entry(self, name: str) -> Entry | None:
        """Return the entry called *name*; of several the last one counts."""
        found = [each for each in self.entries if each.key.text == name]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Items:
    """A list; `flow` means in brackets."""

    start: int
    end: int
    flow: bool
    items: tuple["Node", ...]
    dashes: tuple[int, ...]
    """Where each item's dash is; none in brackets."""


Node: TypeAlias = Scalar | Alias | Map | Items


@dataclass(frozen=True, slots=True)
class Piece:
    """One document of a text, separator and all."""

    start: int
    text: str


def pieces_of(text: str) -> list[Piece]:
    """Return the documents of *text*, blank ones too; one that is broken breaks no other."""
    starts = [found.start() for found in _SEPARATOR.finditer(text)]
    first = len(_BOM) if text.startswith(_BOM) else 0
    cuts = [first, *(start for start in starts if start > first), len(text)]
    return [Piece(start, text[start:end]) for start, end in pairwise(cuts)]


def node_of(piece: Piece) -> Node:
    """Return where the values of *piece* stand, by offsets into the whole text."""
    text = piece.text
    if text.lstrip().startswith(("{", "[")):
        # JSON has tabs between values, and characters in texts that YAML forbids.
        text = _NOT_YAML.sub("?", text.replace("\t", " "))
    try:
        return _Reader(text, piece.start).read_root()
    except (yaml.YAMLError, RecursionError, StopIteration, ValueError) as error:
        raise CannotEdit("it is not YAML that can be read") from error


class _Reader:
    """Builds the nodes of one document from the parser's events."""

    _events: Iterator[Any]

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._events = yaml.parse(text, Loader=_PARSER)

    def read_root(self) -> Node:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                return self._read_node(next(self._events))
        raise CannotEdit("it is empty")

    def _read_node(self, event: Any) -> Node:  # noqa: ANN401 - an event
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            return Alias(start + self._offset, end + self._offset)
        if isinstance(event, yaml.ScalarEvent):
            return self._read_scalar(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._read_map(event)
        return self._read_items(event)

    def _read_scalar(self, event: Any) -> Scalar:  # noqa: ANN401 - an event
        start, end = event.start_mark.index, event.end_mark.index
        style = event.style or ""
        if style in ("|", ">"):
            end = start + len(self._text[start:end].rstrip())
        style = "" if style == ":" else style
        return Scalar(start + self._offset, end + self._offset, style, event.value)

    def _read_map(self, opening: Any) -> Map:  # noqa: ANN401 - an event
        entries = []
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._read_node(event)
            if not isinstance(key, Scalar):
                raise CannotEdit("a key in it is not plain text")
            colon = self._text.index(":", key.end - self._offset) + 1 + self._offset
            entries.append(Entry(key, colon, self._read_node(next(self._events))))
        start, flow = opening.start_mark.index + self._offset, bool(opening.flow_style)
        if flow or not entries:
            return Map(start, self._end(event), flow, tuple(entries))
        return Map(start, max(entries[-1].value.end, entries[-1].colon), flow, tuple(entries))

    def _read_items(self, opening: Any) -> Items:  # noqa: ANN401 - an event
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._read_node(event))
        start, flow = opening.start_mark.index + self._offset, bool(opening.flow_style)
        if flow or not items:
            return Items(start, self._end(event), flow, tuple(items), ())
        dashes = self._find_dashes(start, items)
        return Items(start, max(items[-1].end, dashes[-1] + 1), flow, tuple(items), dashes)

    def _end(self, event: Any) -> int:  # noqa: ANN401 - an event
        end: int = event.end_mark.index
        return end + self._offset

    def _find_dashes(self, start: int, items: list[Node]) -> tuple[int, ...]:
        """Return where the dashes are: below each other, alone but for blanks before them."""
        at = start - self._offset
        if not self._text.startswith("-", at):
            raise CannotEdit("a list in it has an anchor or a tag")
        column = at - (self._text.rfind("\n", 0, at) + 1)
        pattern = re.compile(rf"^ {{{column}}}-(?=\s|$)", re.MULTILINE)
        dashes = [start]
        for item in items[:-1]:
            found = pattern.search(
                self._text, max(item.end - self._offset, dashes[-1] + 1 - self._offset)
            )
            if found is None:
                raise CannotEdit("a list in it is written in an uncommon way")
            dashes.append(found.end() - 1 + self._offset)
        return tuple(dashes)


_PLAIN: Final = re.compile(
    r"[A-Za-z0-9_./$(](?:[\w./@+=%^~()$-]|:(?=[\w/])| (?=[\w./$(]))*", re.ASCII
)
_NUMBER_LIKE: Final = re.compile(r"[0-9.]+(?:[A-Za-z][\w.-]*)?", re.ASCII)
_AMBIGUOUS: Final = frozenset({"y", "Y", "n", "N"})
_NAMED: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def render_scalar(value: Any, style: str = "") -> str:  # noqa: ANN401 - any JSON scalar
    """Return *value* on one line, quoted as *style* says where it is text and that can be."""
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return value if style != '"' and is_plain(value) else quote_double(value)


def is_plain(text: str) -> bool:
    """Return whether *text* reads as itself without quotes, in braces and brackets too."""
    if not _PLAIN.fullmatch(text) or text in _AMBIGUOUS or text.startswith("..."):
        return False
    if (text[0] in "0123456789.") and not _NUMBER_LIKE.fullmatch(text):
        return False
    return isinstance(scalar_of(text), str)


def quote_double(text: str) -> str:
    """Return *text* in double quotes; what does not print is escaped."""
    return f'"{"".join(map(_escape_character, text))}"'


def _escape_character(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char.isprintable():
        return char
    return f"\\U{ord(char):08x}"


def render_literal(text: str) -> tuple[str, list[str]] | None:
    """Return *text* as a block of lines and the sign before it; nothing where that cannot be."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    printable = all(line.replace("\t", " ").isprintable() for line in lines)
    if "\n" not in text or not printable or not lines[0].strip() or lines[0][0] in " \t":
        return None
    if not lines[-1].strip() or any(line != "" and not line.strip() for line in lines):
        return None
    return ("|" if text.endswith("\n") else "|-"), lines


def render_flow(value: Any, *, as_json: bool) -> str:  # noqa: ANN401 - any JSON value
    """Return *value* on one line, in braces and brackets."""
    if as_json:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        parts = (
            f"{render_scalar(key)}: {render_flow(each, as_json=False)}"
            for key, each in value.items()
        )
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(render_flow(each, as_json=False) for each in value) + "]"
    return render_scalar(value)


def render_block(value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return *value*, a map or list that is not empty, as lines.

    Each level is indented by *step*, a list below its key by *inset*.
    """
    if isinstance(value, dict):
        return [
            line for key, each in value.items() for line in render_entry(key, each, step, inset)
        ]
    return [line for each in value for line in render_item(each, step, inset)]


def render_entry(key: str, value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401
    """Return a key and its value as lines of a block."""
    head = f"{render_scalar(key)}:"
    if isinstance(value, dict | list) and value:
        indent = " " * (step if isinstance(value, dict) else inset)
        return [head, *(_indent(indent, line) for line in render_block(value, step, inset))]
    if isinstance(value, str) and (literal := render_literal(value)):
        sign, lines = literal
        return [f"{head} {sign}", *(_indent(" " * step, line) for line in lines)]
    return [f"{head} {render_flow(value, as_json=False)}"]


def render_item(value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return an item as lines of a block."""
    if isinstance(value, dict | list) and value:
        first, *rest = render_block(value, step, inset)
        return [f"- {first}", *(_indent("  ", line) for line in rest)]
    if isinstance(value, str) and (literal := render_literal(value)):
        sign, lines = literal
        return [f"- {sign}", *(_indent("  ", line) for line in lines)]
    return [f"- {render_flow(value, as_json=False)}"]


def _indent(indent: str, line: str) -> str:
    return f"{indent}{line}" if line else line
