"""Where each value of a YAML or JSON document stands in its text.

Values are read elsewhere; here are only places, as offsets into the text. A collection ends where
its last value does, not after the comments and blank lines that follow.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import yaml

from correlator.backport.errors import CannotEdit

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
