"""YAML parsed as Kubernetes parses it: JSON values only, no dates, no clock times.

Go's parser and PyYAML's loaders differ for plain scalars: ``2026-01-31`` and ``12:30`` are text,
``1e3`` is a number. Therefore values are built here, from the parser's events.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

_PARSER: Final = getattr(yaml, "CLoader", yaml.Loader)

MOST_VALUES: Final = 2_000_000
"""Values in one document, aliases spelled out: more is no manifest but an attack."""

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_NUMERIC: Final = frozenset("+-.0123456789")
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_BASED: Final = re.compile(r"([-+]?)0(?:([xob])([0-9a-fA-F_]+)|([0-7_]+))")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TOO_LARGE: Final = 2**64
_LONGEST_NUMBER: Final = 100
"""More digits are not read one by one: Python takes its time for thousands, and then fails."""
_BASES: Final = {"x": 16, "o": 8, "b": 2}
_TAGS: Final[dict[str, Callable[[str], Any]]] = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:int": lambda text: _number(text, 0),
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": lambda text: _WORDS.get(text, text),
    "tag:yaml.org,2002:null": lambda _: None,
}


class YamlInvalid(ValueError):
    """Text that is no YAML; ``line`` counts from zero."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def parse_yaml(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the one value in *text*, nothing if it is empty; raise `YamlInvalid`."""
    try:
        return _Builder(text).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(filter(None, (error.context, error.problem)))
        raise YamlInvalid(problem, mark.line if mark else 0) from error
    except yaml.YAMLError as error:  # a character that YAML forbids
        raise YamlInvalid(str(error).splitlines()[0], 0) from error
    except RecursionError as error:
        raise YamlInvalid("nested too deeply", 0) from error


def scalar_of(text: str) -> Any:  # noqa: ANN401 - any JSON scalar
    """Return what the plain word *text* means."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    if _INT.fullmatch(text):
        return _number(text, 10)
    if found := _BASED.fullmatch(text):
        sign, letter, digits, octal = found.groups()
        try:
            return _number(sign + (digits or octal), _BASES[letter] if letter else 8)
        except ValueError:
            return text
    return _parse_finite(text) if _FLOAT.fullmatch(text) else text


def _number(text: str, base: int) -> int | float | str:
    """Return the whole number that *text* spells; as Go does, a large one as a fraction or text."""
    plain = text.replace("_", "")
    if len(plain) > _LONGEST_NUMBER:
        if base in (0, 10):
            return _parse_finite(plain)
        raise ValueError("a number of too many digits")
    number = int(plain, base)
    return number if abs(number) < _TOO_LARGE else float(number)


def _parse_finite(text: str) -> float | str:
    """Return the number that *text* spells, or the text where it is larger than any."""
    try:
        number = float(text)
    except ValueError:
        return text
    return text if math.isinf(number) else number


class _Builder:
    """Builds one value from the events of the parser."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=_PARSER)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0

    def build(self) -> Any:  # noqa: ANN401 - any JSON value
        value = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                value = self._build_value(next(self._events))
        return value

    def _build_value(self, event: Any) -> Any:  # noqa: ANN401 - an event, any JSON value
        if isinstance(event, yaml.AliasEvent):
            return self._resolve_alias(event)
        before = self._count
        self._take(1, event)
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar_of(event)
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._build_mapping()
        else:
            value = self._build_sequence()
        if event.anchor:
            self._anchors[event.anchor] = value, self._count - before
        return value

    def _build_mapping(self) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        merged: list[Any] = []
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._build_value(event)
            value = self._build_value(next(self._events))
            is_plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
            if key == "<<" and is_plain:
                merged += value if isinstance(value, list) else [value]
            elif isinstance(key, dict | list):
                raise YamlInvalid("a map or list as a key", event.start_mark.line)
            else:
                mapping[_key_of(key)] = value
        for each in merged:
            if isinstance(each, dict):
                mapping = each | mapping
        return mapping

    def _build_sequence(self) -> list[Any]:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._build_value(event))
        return items

    def _resolve_alias(self, event: Any) -> Any:  # noqa: ANN401 - an event, any JSON value
        if event.anchor not in self._anchors:
            raise YamlInvalid(f"an alias to nothing, {event.anchor!r}", event.start_mark.line)
        value, size = self._anchors[event.anchor]
        self._take(size, event)
        return value

    def _take(self, size: int, event: Any) -> None:  # noqa: ANN401 - an event
        self._count += size
        if self._count > MOST_VALUES:
            raise YamlInvalid("more values than a manifest has", event.start_mark.line)


def _scalar_of(event: Any) -> Any:  # noqa: ANN401 - a scalar event, any JSON scalar
    if event.tag and event.tag != "!":
        convert = _TAGS.get(event.tag)
        if convert is None:
            raise YamlInvalid(f"the tag {event.tag}", event.start_mark.line)
        try:
            return convert(event.value)
        except ValueError as error:
            raise YamlInvalid(str(error), event.start_mark.line) from error
    return scalar_of(event.value) if event.implicit[0] else event.value


def _key_of(key: Any) -> str:  # noqa: ANN401 - any JSON scalar
    """Return *key* as JSON spells it: every key is text there."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(key)
