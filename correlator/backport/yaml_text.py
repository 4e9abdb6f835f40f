"""Where each value of a YAML or JSON document stands in its text.

Values are read elsewhere; here are only places, as offsets into the text. A collection ends where
its last value does, not after the comments and blank lines that follow.

Values as YAML or JSON text.

Text is left without quotes only where every reader of YAML, of whatever version, takes it for text.
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
        return _Reader(text, piece.start).root()
    except (yaml.YAMLError, RecursionError, StopIteration, ValueError) as error:
        raise CannotEdit("it is not YAML that can be read") from error


class _Reader:
    """Builds the nodes of one document from the parser's events."""

    _events: Iterator[Any]

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._events = yaml.parse(text, Loader=_PARSER)

    def root(self) -> Node:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                return self._node(next(self._events))
        raise CannotEdit("it is empty")

    def _node(self, event: Any) -> Node:  # noqa: ANN401 - an event
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            return Alias(start + self._offset, end + self._offset)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._map(event)
        return self._items(event)

    def _scalar(self, event: Any) -> Scalar:  # noqa: ANN401 - an event
        start, end = event.start_mark.index, event.end_mark.index
        style = event.style or ""
        if style in ("|", ">"):
            end = start + len(self._text[start:end].rstrip())
        style = "" if style == ":" else style
        return Scalar(start + self._offset, end + self._offset, style, event.value)

    def _map(self, opening: Any) -> Map:  # noqa: ANN401 - an event
        entries = []
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event)
            if not isinstance(key, Scalar):
                raise CannotEdit("a key in it is not plain text")
            colon = self._text.index(":", key.end - self._offset) + 1 + self._offset
            entries.append(Entry(key, colon, self._node(next(self._events))))
        start, flow = opening.start_mark.index + self._offset, bool(opening.flow_style)
        if flow or not entries:
            return Map(start, self._end(event), flow, tuple(entries))
        return Map(start, max(entries[-1].value.end, entries[-1].colon), flow, tuple(entries))

    def _items(self, opening: Any) -> Items:  # noqa: ANN401 - an event
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event))
        start, flow = opening.start_mark.index + self._offset, bool(opening.flow_style)
        if flow or not items:
            return Items(start, self._end(event), flow, tuple(items), ())
        dashes = self._dashes(start, items)
        return Items(start, max(items[-1].end, dashes[-1] + 1), flow, tuple(items), dashes)

    def _end(self, event: Any) -> int:  # noqa: ANN401 - an event
        end: int = event.end_mark.index
        return end + self._offset

    def _dashes(self, start: int, items: list[Node]) -> tuple[int, ...]:
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


def scalar_text(value: Any, style: str = "") -> str:  # noqa: ANN401 - any JSON scalar
    """Return *value* on one line, quoted as *style* says where it is text and that can be."""
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return value if style != '"' and is_plain(value) else double_quoted(value)


def is_plain(text: str) -> bool:
    """Return whether *text* reads as itself without quotes, in braces and brackets too."""
    if not _PLAIN.fullmatch(text) or text in _AMBIGUOUS or text.startswith("..."):
        return False
    if (text[0] in "0123456789.") and not _NUMBER_LIKE.fullmatch(text):
        return False
    return isinstance(scalar_of(text), str)


def double_quoted(text: str) -> str:
    """Return *text* in double quotes; what does not print is escaped."""
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char.isprintable():
        return char
    return f"\\U{ord(char):08x}"


def literal_lines(text: str) -> tuple[str, list[str]] | None:
    """Return *text* as a block of lines and the sign before it; nothing where that cannot be."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    printable = all(line.replace("\t", " ").isprintable() for line in lines)
    if "\n" not in text or not printable or not lines[0].strip() or lines[0][0] in " \t":
        return None
    if not lines[-1].strip() or any(line != "" and not line.strip() for line in lines):
        return None
    return ("|" if text.endswith("\n") else "|-"), lines


def flow_text(value: Any, *, as_json: bool) -> str:  # noqa: ANN401 - any JSON value
    """Return *value* on one line, in braces and brackets."""
    if as_json:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        parts = (
            f"{scalar_text(key)}: {flow_text(each, as_json=False)}" for key, each in value.items()
        )
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_text(each, as_json=False) for each in value) + "]"
    return scalar_text(value)


def block_lines(value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return *value*, a map or list that is not empty, as lines.

    Each level is indented by *step*, a list below its key by *inset*.
    """
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in entry_lines(key, each, step, inset)]
    return [line for each in value for line in item_lines(each, step, inset)]


def entry_lines(key: str, value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401
    """Return a key and its value as lines of a block."""
    head = f"{scalar_text(key)}:"
    if isinstance(value, dict | list) and value:
        indent = " " * (step if isinstance(value, dict) else inset)
        return [head, *(_indented(indent, line) for line in block_lines(value, step, inset))]
    if isinstance(value, str) and (literal := literal_lines(value)):
        sign, lines = literal
        return [f"{head} {sign}", *(_indented(" " * step, line) for line in lines)]
    return [f"{head} {flow_text(value, as_json=False)}"]


def item_lines(value: Any, step: int, inset: int) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return an item as lines of a block."""
    if isinstance(value, dict | list) and value:
        first, *rest = block_lines(value, step, inset)
        return [f"- {first}", *(_indented("  ", line) for line in rest)]
    if isinstance(value, str) and (literal := literal_lines(value)):
        sign, lines = literal
        return [f"- {sign}", *(_indented("  ", line) for line in lines)]
    return [f"- {flow_text(value, as_json=False)}"]


def _indented(indent: str, line: str) -> str:
    return f"{indent}{line}" if line else line
