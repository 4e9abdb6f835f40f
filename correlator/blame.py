"""Blame: who set each field of a live object, when and why, rendered beside its YAML lines.

An attribution comes from a record, from the audit log, or else from managedFields. Lines that are
as Git declares them name the file and the revision.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import yaml

from correlator.attribution.context import Drifted, Knowledge
from correlator.attribution.evidence import last_write_time
from correlator.attribution.link import Link, State, link
from correlator.declared.manifests import Manifests
from correlator.declared.read import lookup_in
from correlator.detector.detect import normalize_manifest
from correlator.detector.managers import may_write
from glasswarden.kube.compare import ABSENT, value_at
from glasswarden.kube.equality import is_identical
from glasswarden.kube.managed_fields import Entry, Hints, hints_below, items_from_hints, owners_at
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import ROOT, Index, Key, Path, Step
from glasswarden.kube.schema import KeyedItems, Shape, index_by_identity, shape_of, step_to
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt
from glasswarden.terminal import escape_unprintable, pad_text, width_of


class Evidence(StrEnum):
    """Where a name comes from."""

    RECORD = "record"
    AUDIT = "audit"
    """The API server's audit log, which proves it; there is no record."""

    MANAGED_FIELDS = "managedFields"
    NOTHING = ""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who set a field, as far as that is known."""

    who: str = ""
    when: datetime | None = None
    ticket: str = ""
    reason: str = ""
    record: str = ""
    source: Evidence = Evidence.NOTHING


@dataclass(frozen=True, slots=True)
class History:
    """What is known of one object."""

    cluster: str
    ref: Ref
    entries: tuple[Entry, ...]
    attempts: Sequence[Attempt]
    """Newest first."""

    masks: Masks | None = None
    owner_managers: frozenset[str] = frozenset()
    """The field managers of the object's owner."""
    knowledge: Knowledge = field(default_factory=Knowledge)
    """What is known beside the records."""

    generation: int = 0
    """How often the object's spec was written; 0 where that is not counted."""

    def attribute(self, path: Path, value: Any) -> Attribution:  # noqa: ANN401 - any JSON value
        """Return who set *value* at *path*."""
        holders = owners_at(self.entries, path)
        writers = tuple(filter(may_write, self.entries))
        drifted = Drifted(
            self.cluster, self.ref, path, ABSENT, value, holders,
            entries=writers, owner_managers=self.owner_managers, generation=self.generation,
        )  # fmt: skip
        found = link(drifted, self.attempts, self.knowledge, self.masks)
        if found.state is State.EXPLAINED:
            attempt = next(each for each in self.attempts if each.id == found.records[0])
            return Attribution(
                _actor_of(found),
                found.time,
                found.ticket,
                attempt.reason,
                found.records[0],
                Evidence.RECORD,
            )
        if found.actor:
            return Attribution(_actor_of(found), found.time, source=Evidence.AUDIT)
        managers = ", ".join(dict.fromkeys(entry.manager for entry in holders))
        if not managers:
            return Attribution()
        return Attribution(managers, last_write_time(holders), source=Evidence.MANAGED_FIELDS)


def _actor_of(found: Link) -> str:
    """Return who it was; an impersonator comes first: that is the person to ask."""
    return f"{found.impersonator} as {found.actor}" if found.impersonator else found.actor


Attribute = Callable[[Path, Any], Attribution]


SHORT: Final = 12
"""Characters of a commit's id."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What Git says about one object."""

    manifest: Object
    revision: str
    """The commit; with `-dirty` where files were edited since, empty where there is none."""
    origin: str

    def declares(self, path: Path, value: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Return whether Git sets *path* to *value*."""
        said = value_at(self.manifest, path)
        return said is not ABSENT and is_identical(said, value)

    def __str__(self) -> str:
        commit, _, edited = self.revision.partition("-")
        short = f"{commit[:SHORT]}-{edited}" if edited else commit[:SHORT]
        return " ".join(filter(None, (short, self.origin)))


def declaration_of(ref: Ref, manifests: Manifests) -> Declaration | None:
    """Return what *manifests* say about *ref*, none where they do not declare it."""
    manifest = lookup_in(manifests)(ref)
    if manifest is None:
        return None
    origin = next(each.origin for each in manifests.objects if each.manifest is manifest)
    return Declaration(normalize_manifest(manifest, ref), manifests.revision, origin)


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
    return list(_lines_below(root, shown))


def _lines_below(node: _Node, shown: Callable[[Path, Any], Any]) -> Iterator[Line]:
    margin = "  " * node.indent
    for child, label in _children_of(node):
        if not _is_nested(child):
            yield Line(
                f"{margin}{label} {render_scalar(shown(child.path, child.value))}",
                child.path,
                child.value,
                sets=True,
            )
            continue
        inside = list(_lines_below(child, shown))
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


def _children_of(node: _Node) -> Iterator[tuple[_Node, str]]:
    if isinstance(node.value, dict):
        for key, value in node.value.items():
            yield _new_child(node, Key(key), value, node.shape.at(key)), f"{render_scalar(key)}:"
    else:
        for step, item in _items_of(node):
            yield _new_child(node, step, item, node.shape.item), "-"


def _new_child(node: _Node, step: Step, value: Any, shape: Shape) -> _Node:  # noqa: ANN401 - JSON
    hints = hints_below(node.hints, step)
    return _Node(node.path / step, value, shape, hints, node.indent + 1)


def _items_of(node: _Node) -> list[tuple[Step, Any]]:
    """Return the items of a list, each with the step that leads to it."""
    match node.shape.items or items_from_hints(node.hints):
        case KeyedItems(keys=keys) if index_by_identity(node.value, keys):
            return [(step_to(item, keys), item) for item in node.value]
        case "set" if index_by_identity(node.value, ()):
            return [(step_to(item, ()), item) for item in node.value]
    return [(Index(index), item) for index, item in enumerate(node.value)]


def render_scalar(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return *value* as YAML on one line."""
    if isinstance(value, dict | list) or (isinstance(value, str) and not value.isprintable()):
        return json.dumps(value, ensure_ascii=True)
    text: str = yaml.safe_dump(value, allow_unicode=True, width=2**31)
    return text.removesuffix("\n").removesuffix("\n...")


LONGEST_NAME: Final = 60
"""An account's whole name fits; what is longer loses its middle, for its ends tell it apart."""

LONGEST_REASON: Final = 40
_PROVEN: Final = (Evidence.RECORD, Evidence.AUDIT)


def render(
    lines: Sequence[tuple[Line, Attribution | None]], revisions: Sequence[str] = ()
) -> Iterable[tuple[str, str, bool]]:
    """Yield, for each line, who set it, what it says, and whether the name is proven.

    *revisions* are Git's word on each line, empty where it says something else, or nothing. A name
    that is not proven stands in brackets: colour alone would be lost on paper.
    """
    said = [attribution or Attribution() for _, attribution in lines]
    rows = [
        (_render_who(each), _render_when(each), _render_why(each), escape_unprintable(revision))
        for each, revision in zip(said, revisions or [""] * len(lines), strict=True)
    ]
    widths = [max(map(width_of, column), default=0) for column in zip(*rows, strict=True)]
    for (line, _), each, row in zip(lines, said, rows, strict=True):
        cells = (pad_text(cell, width) for cell, width in zip(row, widths, strict=True) if width)
        yield "  ".join(cells), line.text, each.source in _PROVEN


def _render_who(attribution: Attribution) -> str:
    text = _cut(escape_unprintable(attribution.who), LONGEST_NAME)
    return f"[{text}]" if text and attribution.source not in _PROVEN else text


def _render_when(attribution: Attribution) -> str:
    return f"{attribution.when:%Y-%m-%d %H:%M}" if attribution.when else ""


def _render_why(attribution: Attribution) -> str:
    reason = _cut(escape_unprintable(attribution.reason), LONGEST_REASON)
    return ": ".join(filter(None, (escape_unprintable(attribution.ticket), reason)))


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head = longest // 3
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"
