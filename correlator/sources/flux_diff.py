"""The output of `flux diff kustomization`, parsed into findings.

One line for each object has what would happen to it. Below those that differ are the fields, by
paths with dots as dyff prints them, with the live (`-`) and declared (`+`) value. The text lacks
the API group, the type of a value, and of long texts all lines that do not differ. A path with dots
does not show which part is an item of a list, or which dot belongs to a key. For Kubernetes' own
kinds the schema and the names of well-known maps decide; for others, as much as is certain is read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from correlator.declared.yaml_values import YamlInvalid, parse_yaml
from correlator.finding import HIDDEN, PART, UNKNOWN, Finding, Incomplete, Result
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.diff import remove_noise
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import ROOT, Index, Key, Order, Path, Select
from glasswarden.kube.schema import (
    KeyedItems,
    Shape,
    find_builtin_kind,
    index_by_identity,
    shape_of,
    step_to,
)

_MAPS: Final = frozenset(
    {
        "annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector",
        "requests", "stringData",
    }
)  # fmt: skip
"""Fields below which stand keys that people choose: their dots are their own."""

_TEXTS: Final = _MAPS - {"limits", "requests"}


def parse_dotted(text: str, shape: Shape) -> tuple[Path, Shape]:
    """Return the path that *text* spells in an object of *shape*, and the shape that is there."""
    path, words = ROOT, text.split(".") if text and not text.startswith("(") else []
    while words:
        if isinstance(path.step, Key) and path.step.name in _MAPS:
            return path / Key(".".join(words)), shape.at(".".join(words))
        word, *words = words
        if isinstance(shape.items, KeyedItems):
            word, words = _item(word, words)
            path, shape = path / _step(word, shape.items), shape.item
        elif word.isdigit():
            path, shape = path / Index(int(word)), shape.item
        else:
            path, shape = path / Key(word), shape.at(word)
    return path, shape


def is_text_at(path: Path) -> bool:
    """Return whether only text can stand at *path*."""
    above = path.parent.step if path.parent else None
    if isinstance(above, Key) and above.name in _TEXTS:
        return True
    return isinstance(path.step, Key) and path.step.name in ("value", "image", "name")


def _item(word: str, words: list[str]) -> tuple[str, list[str]]:
    """Return an item's name, which may have dots of its own, and the words after it."""
    rest = list(words)
    while rest and not _is_field(rest[0]):
        word, rest = f"{word}.{rest[0]}", rest[1:]
    return word, rest


def _is_field(word: str) -> bool:
    # Fields begin with a small letter; what people choose to write with dots mostly does not.
    return word[:1].islower() and word.isalnum()


def _step(word: str, items: KeyedItems) -> Index | Select:
    if word.isdigit():
        return Index(int(word))
    name = items.keys[0] if len(items.keys) == 1 else "name"
    return Select(((name, word),))


_OBJECT: Final = re.compile(
    r"► (?P<kind>[^/ ]+)/(?:(?P<namespace>[^/ ]+)/)?(?P<name>\S+) (?P<what>\w+)$"
)
_MARKER: Final = re.compile(
    r"(?P<sign>[+\-±⇆]) (?:\w+ (?P<of>map|list) entr(?:y|ies) (?:added|removed):|order changed"
    r"|(?P<how>(?:value|type|content|certificate|whitespace only) change\b.*))$"
)
_FAILED: Final = "✗"
"""Begins what Flux complains about."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_MASKED: Final = "***"


@dataclass(slots=True)
class _Difference:
    """What was printed about one field."""

    path: str
    sign: str
    of: str
    how: str
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Section:
    """What was printed about one object."""

    ref: Ref
    what: str
    lines: list[str] = field(default_factory=list)

    def differences(self) -> Iterator[_Difference]:
        """Yield the fields that differ; one begins with a path and a marker below it."""
        path, current = "", None
        for number, line in enumerate(self.lines):
            following = self.lines[number + 1] if number + 1 < len(self.lines) else ""
            found = _MARKER.match(line)
            if found and path:
                if current is not None:
                    yield current
                current = _Difference(path, found["sign"], found["of"] or "", found["how"] or "")
            elif _MARKER.match(following) and (number == 0 or not self.lines[number - 1]):
                if current is not None:
                    yield current
                path, current = line, None
            elif current is not None:
                current.lines.append(line)
        if current is not None:
            yield current


def read_flux_diff(text: str, source: str) -> Result:
    """Return the differences in *text*."""
    text = _COLOUR.sub("", text)
    sections = list(_sections(text))
    if text.strip() and not sections:
        return Result((), (Incomplete(source, "this is not the output of `flux diff`"),))
    findings: list[Finding] = []
    incomplete = list(_complaints(text, source))
    for section in sections:
        for found in _findings_in(section, source):
            (findings if isinstance(found, Finding) else incomplete).append(found)  # type: ignore[arg-type]
    return Result(tuple(findings), tuple(incomplete))


def _complaints(text: str, source: str) -> Iterator[Incomplete]:
    """Yield the lines where the output ends early, and those in an unknown form."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(_FAILED):
            yield Incomplete(source, f"Flux failed: {line.removeprefix(_FAILED).strip()}")
        elif line.startswith("► ") and not _OBJECT.match(line):
            yield Incomplete(f"{source}, line {number}", "it tells of an object in unknown words")


def _sections(text: str) -> Iterator[_Section]:
    section: _Section | None = None
    for line in text.splitlines():
        if found := _OBJECT.match(line):
            if section is not None:
                yield section
            group, version = find_builtin_kind(found["kind"]) or ("", "")
            ref = Ref(group, version, found["kind"], found["namespace"] or "", found["name"])
            section = _Section(ref, found["what"])
        elif section is not None and not line.startswith((_FAILED, "► ")):
            section.lines.append(line)
    if section is not None:
        yield section


def _findings_in(section: _Section, source: str) -> Iterator[Finding | Incomplete]:
    match section.what:
        case "created":
            yield Finding(section.ref, ROOT, UNKNOWN, ABSENT, None, source)
        case "deleted":
            yield Finding(section.ref, ROOT, ABSENT, {"metadata": {}}, None, source)
        case "skipped":
            yield Incomplete(str(section.ref), "Flux skips it, by an annotation on it")
        case "drifted" if differences := list(section.differences()):
            for each in differences:
                yield from _fields(section.ref, each, source)
        case what:
            why = f"Flux calls it {what}, and prints nothing about it that can be read"
            yield Incomplete(str(section.ref), why, kinds=(section.ref.kind,))


def _fields(ref: Ref, difference: _Difference, source: str) -> Iterator[Finding | Incomplete]:
    path, shape = parse_dotted(difference.path, shape_of(ref))
    if _is_noise(path):
        return
    try:
        found = list(_values(path, shape, difference))
    except YamlInvalid:
        yield Incomplete(f"{path} of {ref}", f"{source} prints no value that can be read")
        return
    for place, declared, live in found:
        yield Finding(ref, place, declared, live, None, source)


_Values = Iterator[tuple[Path, Value, Value]]
"""Paths, with the declared and the live value."""


def _values(path: Path, shape: Shape, difference: _Difference) -> _Values:
    lines, sign = difference.lines, difference.sign
    if sign == "⇆":
        live, declared = _sides(lines)
        yield path / Order(), declared, live
    elif sign == "±":
        live, declared = _sides(lines)
        is_partial = "multiline" in difference.how or "value" not in difference.how
        read = _partial if is_partial else _scalar
        yield path, read(path, declared), read(path, live)
    else:
        for place, value in _entries(path, shape, parse_yaml("\n".join(lines)), difference.of):
            yield (place, value, ABSENT) if sign == "+" else (place, ABSENT, value)


def _entries(path: Path, shape: Shape, value: Value, of: str) -> Iterator[tuple[Path, Value]]:
    """Yield the entries that came or went, each with its path."""
    if of == "map" and isinstance(value, dict):
        yield from ((path / Key(str(name)), each) for name, each in value.items())
        return
    keys = shape.items.keys if isinstance(shape.items, KeyedItems) else ()
    is_known = keys or shape.items == "set"
    if isinstance(value, list) and is_known and index_by_identity(value, keys) is not None:
        yield from ((path / step_to(each, keys), each) for each in value)
    else:
        yield path, PART + str(value)


def _sides(lines: list[str]) -> tuple[str, str]:
    """Return what stands after `-` and after `+`, with the lines that go on below each."""
    sides: dict[str, list[str]] = {"-": [], "+": []}
    sign = "-"
    for line in lines:
        if line[:2] in ("- ", "+ "):
            sign = line[0]
        if line.strip():
            sides[sign].append(line[2:])
    return "\n".join(sides["-"]), "\n".join(sides["+"])


def _partial(_: Path, text: str) -> Value:
    return PART + text


def _scalar(path: Path, text: str) -> Value:
    if text.startswith(_MASKED):
        return HIDDEN
    return text if is_text_at(path) else parse_yaml(text)


def _is_noise(path: Path) -> bool:
    first, *rest = path.steps or (None,)  # dyff calls the top of an object the root level
    if not isinstance(first, Key):
        return False
    second = rest[0].name if rest and isinstance(rest[0], Key) else ""
    return not remove_noise({first.name: {second: {}}}).get(first.name)
