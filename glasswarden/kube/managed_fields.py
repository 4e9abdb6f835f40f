"""Reads managedFields: which field manager wrote which fields, and who made a write.

Each entry names a manager, its operation (Apply or Update) and, as FieldsV1, the fields it owns.
A client can choose any manager name and can remove or rewrite the entries, so all of this is a hint
and never evidence. Malformed entries are skipped, and nothing here raises.

`paths_scaled_since` finds the fields that were written through `scale`. A Scale has no annotations,
so managedFields are the only place on the object that remembers such a write. The API server gives
that entry no time (seen up to Kubernetes 1.36), so an entry that may be older counts too.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

from glasswarden.kube.equality import is_surely_equal
from glasswarden.kube.objects import Object, metadata_of
from glasswarden.kube.paths import ROOT, Index, Key, Member, Path, Scalar, Select, Step
from glasswarden.kube.schema import Items, KeyedItems

FieldsV1: TypeAlias = dict[str, Any]
"""A tree of fields: ``f:<name>``, ``k:<keys as JSON>``, ``v:<value as JSON>``, ``i:<index>``.

A node is owned itself when it is empty or holds ``.``."""

Hints: TypeAlias = tuple[FieldsV1, ...]
"""The nodes of several entries for the same field."""

_BOOKKEEPING: Final = frozenset({"ancient-changes", "before-first-apply"})
"""Managers that the API server itself adds: to limit the number of entries, and to keep the fields
that an object had when it was first applied. They never write."""

_LONGEST_MANAGER: Final = 128

_decode_keys: Final = msgspec.json.Decoder(dict[str, Scalar]).decode
_decode_value: Final = msgspec.json.Decoder(Scalar).decode
_encode: Final = msgspec.json.Encoder(order="sorted").encode


class Entry(msgspec.Struct, frozen=True, rename="camel"):
    """One manager's fields."""

    operation: Literal["Apply", "Update"]
    manager: str = ""
    subresource: str = ""
    api_version: str = ""
    time: str = ""
    """When the entry last changed by its own write, in whole seconds."""
    fields: FieldsV1 = msgspec.field(name="fieldsV1", default_factory=dict)

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it the same entry before and after a write.

        An applier keeps its entry across API versions (`BuildManagerIdentifier` in apimachinery).
        """
        version = "" if self.operation == "Apply" else self.api_version
        return self.manager, self.operation, self.subresource, version


def entries_of(obj: Object | None) -> tuple[Entry, ...]:
    """Return the readable managedFields entries of *obj*, in their order."""
    listed = metadata_of(obj).get("managedFields") if obj else None
    if not isinstance(listed, list):
        return ()
    return tuple(entry for raw in listed if (entry := _parse_entry(raw)) is not None)


def remove_fields(entry: Entry) -> Entry:
    """Return *entry* without its fields, which are most of its size."""
    return msgspec.structs.replace(entry, fields={})


def writer_of(old: Object | None, new: Object | None) -> Entry | None:
    """Return the likeliest writer that the difference of the two managedFields shows, if any."""
    return next(iter(writers_between(entries_of(old), entries_of(new))), None)


def writers_between(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return those of *new* that a write created or renewed, the latest first.

    The writer's entry appears or gets a new time or, within the same second, gains a field; one
    that only lost a field lost it to somebody else. None is left by a write that only removes
    fields, nor by one that repeats the same manager's last write within a second.
    """
    before = {entry.identity: entry for entry in old}
    able = [entry for entry in new if entry.manager not in _BOOKKEEPING]
    wrote = [entry for entry in able if _is_renewed(before.get(entry.identity), entry)] or [
        entry for entry in able if _has_gained_field(before[entry.identity].fields, entry.fields)
    ]
    return tuple(sorted(wrote, key=lambda entry: entry.time, reverse=True))


def owners_at(entries: tuple[Entry, ...], path: Path) -> tuple[Entry, ...]:
    """Return those of *entries* that own something at *path*, or the whole that contains it.

    FieldsV1 has the same form for a map that is owned as a whole and for a map of which only the
    existence is owned, for example after others took over all fields inside. If another entry owns
    something inside, it is the second.
    """
    if not entries:
        return ()
    steps = path.steps
    ends = [_find_end(entry.fields, steps) for entry in entries]
    if len(ends) == 1:
        return entries if ends[0][1] else ()
    least = min(len(steps) - 1, max(ends)[0])
    return tuple(
        entry for entry, (depth, owns) in zip(entries, ends, strict=True) if owns and depth >= least
    )


def owned_paths_of(fields: FieldsV1) -> Iterator[Path]:
    """Yield every path that *fields* owns."""
    pending = [(ROOT, fields)]
    while pending:
        path, node = pending.pop()
        if path is not ROOT and (not node or "." in node):
            yield path
        for name, child in reversed(node.items()):
            step = parse_step(name)
            if step is not None and isinstance(child, dict):
                pending.append((path / step, child))


def items_of(node: FieldsV1) -> Items | None:
    """Return how items of the list at *node* are identified, if its first owned item shows it."""
    for name in node:
        match parse_step(name):
            case Select(keys=keys) if keys:
                return KeyedItems(tuple(key for key, _ in keys))
            case Member():
                return "set"
            case Index():
                return None
    return None


def items_from_hints(hints: Hints) -> Items | None:
    """Return how items of the list at *hints* are identified, if one of the nodes shows it."""
    return next((items for node in hints if (items := items_of(node)) is not None), None)


def hints_below(hints: Hints, step: Step) -> Hints:
    """Return the nodes of the field that *step* leads to."""
    return tuple([child for node in hints if (child := child_of(node, step)) is not None])


def child_of(node: FieldsV1, step: Step) -> FieldsV1 | None:
    """Return the node that *step* leads to, if *node* has it."""
    child = node.get(render_step(step))
    return child if isinstance(child, dict) else None


def parse_step(name: str) -> Step | None:
    """Return the step that a name in FieldsV1 spells; none for ``.`` and malformed names."""
    prefix, text = name[:2], name[2:]
    try:
        match prefix:
            case "f:":
                return Key(text)
            case "k:":
                return Select(tuple(_decode_keys(text).items()))
            case "v:":
                return Member(_decode_value(text))
            case "i:" if text.isascii() and text.isdigit():
                return Index(int(text))
    except (msgspec.DecodeError, ValueError):
        pass
    return None


def render_step(step: Step) -> str:
    """Return the name of *step* in FieldsV1; empty if it has none."""
    if isinstance(step, Key):  # the most frequent case, and faster than a match
        return f"f:{step.name}"
    match step:
        case Select(keys=keys):
            return f"k:{_render_json(dict(keys))}"
        case Member(value=value):
            return f"v:{_render_json(value)}"
        case Index(index=index):
            return f"i:{index}"
        case _:
            return ""  # the order of a list is not a field


def manager_from_user_agent(user_agent: str) -> str:
    """Return the manager that the API server records for a request without one.

    It is the user agent up to the first slash, without unprintable characters, cut at 128 bytes
    (`prefixFromUserAgent` in the API server).
    """
    program = user_agent.partition("/")[0]
    printable = "".join(char for char in program if char.isprintable())
    return printable.encode()[:_LONGEST_MANAGER].decode(errors="ignore")


def _parse_entry(raw: object) -> Entry | None:
    try:
        return msgspec.convert(raw, Entry)
    except msgspec.ValidationError:
        return None


def _render_json(value: Scalar | dict[str, Scalar]) -> str:
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON of the API server never contains
        return ""


def _is_renewed(before: Entry | None, entry: Entry) -> bool:
    return before is None or before.time != entry.time


def _has_gained_field(before: FieldsV1, after: FieldsV1) -> bool:
    """Return whether *after* has a node that *before* lacks."""
    if is_surely_equal(before, after):
        return False
    pending = [(before, after)]
    while pending:
        earlier, later = pending.pop()
        if not earlier.keys() >= later.keys():
            return True
        pending += (
            (earlier[name], child)
            for name, child in later.items()
            if isinstance(child, dict) and isinstance(earlier[name], dict)
        )
    return False


def _find_end(fields: FieldsV1, steps: tuple[Step, ...]) -> tuple[int, bool]:
    """Return how many of *steps* lead to nodes with children, and whether the end is owned."""
    node = fields
    for depth, step in enumerate(steps):
        child = child_of(node, step)
        if not child:
            return depth, child is not None
        node = child
    return len(steps), True


_AUTOSCALERS: Final = frozenset({"kube-controller-manager", "keda"})
"""Programs that scale by themselves."""


def paths_scaled_since(obj: Object, start: datetime) -> tuple[Path, ...]:
    """Return the fields of *obj* that were last written through `scale`, by hand, since *start*."""
    return tuple(_find_scaled_paths(obj, start))


def _find_scaled_paths(obj: Object, start: datetime) -> Iterator[Path]:
    for entry in entries_of(obj):
        by_hand = entry.subresource == "scale" and entry.manager not in _AUTOSCALERS
        if by_hand and not _is_before(entry, start):
            yield from owned_paths_of(entry.fields)


def _is_before(entry: Entry, start: datetime) -> bool:
    try:
        time = datetime.fromisoformat(entry.time)
    except ValueError:
        return False
    return time.tzinfo is not None and time < start.replace(microsecond=0)
