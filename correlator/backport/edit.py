"""Editing the value of a YAML or JSON document with minimal changes to its text.

The file is never dumped: each difference between the two values is spliced into the text, and the
result is parsed again. Comments, order, quotes, indentation, separators and line endings of
everything else stay as they are.

A field is set by the path that a record has. Live objects are more complete than manifests: a merge
key that the API server fills in may be missing in a manifest, and then the only item that fits is
used.
"""

import json
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Any, Final, TypeAlias

from correlator.backport.errors import CannotEdit, CannotPlace
from correlator.backport.yaml_text import (
    Entry,
    Items,
    Map,
    Node,
    Piece,
    Scalar,
    node_of,
    pieces_of,
    render_entry,
    render_flow,
    render_item,
    render_literal,
    render_scalar,
)
from correlator.declared.yaml_values import YamlInvalid, parse_yaml
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.equality import is_identical
from glasswarden.kube.paths import Index, Key, Member, Order, Select, Step
from glasswarden.kube.schema import identity_of, target_of

Location: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys of maps and positions in lists."""

_DEFAULT_STEP: Final = 2
SHARED: Final = "it is written with a YAML alias or a merged map, which others share"


def value_of(piece: Piece) -> Any:  # noqa: ANN401 - any JSON value
    """Return what *piece* means, or raise `CannotEdit`."""
    try:
        if piece.text.lstrip().startswith(("{", "[")):
            try:
                return json.loads(piece.text)
            except ValueError:
                pass
        return parse_yaml(piece.text)
    except YamlInvalid as error:
        raise CannotEdit(f"it is not YAML: {error}") from error


def rewrite_document(text: str, index: int, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return *text* with its document *index* meaning *value*, or raise `CannotEdit`."""
    after = text
    for edit in _plan_edits(value_of(_piece_at(text, index)), value, ()):
        after = edit(_Document(after, index))
    if not _has_value(after, index, value):
        raise CannotEdit("an anchor, an alias or an uncommon notation is in the way")
    return after


def _has_value(text: str, index: int, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    try:
        return is_identical(value_of(_piece_at(text, index)), value)
    except CannotEdit:
        return False


def _piece_at(text: str, index: int) -> Piece:
    pieces = pieces_of(text)
    if index >= len(pieces):
        raise CannotEdit("the document is gone")
    return pieces[index]


_Edit: TypeAlias = Callable[["_Document"], str]


def _plan_edits(old: Any, new: Any, at: Location) -> Iterator[_Edit]:  # noqa: ANN401 - JSON values
    """Yield the smallest edits that lead from *old* to *new*, each on what those before it left."""
    if is_identical(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        yield from _plan_map_edits(old, new, at)
    elif isinstance(old, list) and isinstance(new, list) and old and new:
        yield from _list_edits(old, new, at)
    else:
        yield lambda document: document.replace(at, new)


def _plan_map_edits(old: dict[str, Any], new: dict[str, Any], at: Location) -> Iterator[_Edit]:
    if not old.keys() & new.keys():
        yield lambda document: document.replace(at, new)
        return
    for key, value in new.items():
        if key in old:
            yield from _plan_edits(old[key], value, (*at, key))
    for key in old.keys() - new.keys():
        yield _new_removal((*at, key))
    for key, value in new.items():
        if key not in old:
            yield _new_addition(at, key, value)


def _list_edits(old: list[Any], new: list[Any], at: Location) -> Iterator[_Edit]:
    """Yield edits from the end of the list to its beginning, so that positions hold."""
    had, has = ([json.dumps(each, sort_keys=True) for each in items] for items in (old, new))
    matched = SequenceMatcher(None, had, has, autojunk=False)
    if not matched.find_longest_match().size and len(old) != len(new):
        yield lambda document: document.replace(at, new)
        return
    for _, i, i_end, j, j_end in reversed(matched.get_opcodes()):
        paired = min(i_end - i, j_end - j)
        for position in reversed(range(i + paired, i_end)):
            yield _new_removal((*at, position))
        for place in reversed(range(j + paired, j_end)):
            yield _new_insertion(at, i + paired, new[place])
        for each in range(paired):
            yield from _plan_edits(old[i + each], new[j + each], (*at, i + each))


def _new_removal(at: Location) -> _Edit:
    return lambda document: document.remove(at)


def _new_addition(at: Location, key: str, value: Any) -> _Edit:  # noqa: ANN401 - any JSON value
    return lambda document: document.add_key(at, key, value)


def _new_insertion(at: Location, position: int, value: Any) -> _Edit:  # noqa: ANN401 - any JSON value
    return lambda document: document.insert_item(at, position, value)


class _Document:
    """One document of a text, ready to be edited once."""

    def __init__(self, text: str, index: int) -> None:
        self._text = text
        self._piece = _piece_at(text, index)
        self._root = node_of(self._piece)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._as_json = _is_json(self._root)
        self._step, self._inset = _indents_of(self._root, self._column_of)

    def replace(self, at: Location, value: Any) -> str:  # noqa: ANN401 - any JSON value
        """Return the text with *value* at the place *at*."""
        if not at:
            raise CannotEdit("the whole document would have to be written anew")
        parent, step = self._parent_of(at), at[-1]
        if isinstance(parent, Map):
            entry = parent.entry(str(step))
            if entry is None:  # it came with a merged map, which others share
                return self.add_key(at[:-1], str(step), value)
            return self._replace_value(parent, entry, value)
        return self._replace_item(parent, int(step), value)

    def add_key(self, at: Location, key: str, value: Any) -> str:  # noqa: ANN401
        """Return the text with the new *key* at the end of the map *at*."""
        node = self._node_at(at)
        if not isinstance(node, Map):
            raise CannotEdit(SHARED)
        if not node.entries:
            return self.replace(at, {key: value})
        if node.flow:
            flow = self._render_flow(node, node.entries[-1].key.start, value)
            text = f"{self._render_key(key)}: {flow}"
            last = max(node.entries[-1].value.end, node.entries[-1].key.end)
            return self._append_in_flow(node.entries[-1].key.start, last, text)
        indent = self._column_of(node.entries[0].key.start)
        return self._insert_below(
            node.end, indent, render_entry(key, value, self._step, self._inset)
        )

    def insert_item(self, at: Location, position: int, value: Any) -> str:  # noqa: ANN401
        """Return the text with *value* in the list *at*, before the item at *position*."""
        node = self._node_at(at)
        if not isinstance(node, Items) or not node.items:
            raise CannotEdit(SHARED)
        if node.flow:
            return self._insert_in_flow(node, position, value)
        indent = self._column_of(node.dashes[0])
        lines = render_item(value, self._step, self._inset)
        if position:
            before = node.items[position - 1]
            return self._insert_below(max(before.end, node.dashes[position - 1] + 1), indent, lines)
        # What stands before the first dash may be a key or another dash.
        text = self._newline.join([lines[0], *(f"{' ' * indent}{line}" for line in lines[1:])])
        return self._splice(node.start, node.start, f"{text}{self._newline}{' ' * indent}")

    def remove(self, at: Location) -> str:
        """Return the text without what stands *at*."""
        parent = self._parent_of(at)
        position, spans = _spans_of(parent, at[-1])
        if len(spans) == 1:
            return self.replace(at[:-1], {} if isinstance(parent, Map) else [])
        start, end = spans[position]
        is_last = position + 1 == len(spans)
        if not is_last and (parent.flow or not self._is_alone(start)):
            return self._splice(start, spans[position + 1][0], "")
        if parent.flow:
            return self._splice(spans[position - 1][1], end, "")
        return self._remove_lines(self._line_start_of(start), self._line_end_of(end))

    def _remove_lines(self, start: int, end: int) -> str:
        if end < len(self._text):
            return self._splice(start, end + 1, "")
        return self._splice(max(start - len(self._newline), 0), end, "")

    def _parent_of(self, at: Location) -> Map | Items:
        node = self._node_at(at[:-1])
        if not isinstance(node, Map | Items):
            raise CannotEdit(SHARED)
        return node

    def _node_at(self, at: Location) -> Node:
        node = self._root
        for step in at:
            node = _child_of(node, step)
        return node

    def _replace_value(self, parent: Map, entry: Entry, value: Any) -> str:  # noqa: ANN401
        old = entry.value
        if parent.flow:
            text = self._replace_in_flow(parent, entry.key.start, old, value)
            return self._splice_value(entry.colon, old, text)
        if isinstance(old, Scalar) and old.style == "|" and isinstance(value, str):
            return self._replace_literal(entry, old, value)
        if _is_small(value):
            text = _render_small(value, old)
            if isinstance(old, Map | Items) and not old.flow:
                return self._splice(entry.colon, old.end, f" {text}")
            return self._splice_value(entry.colon, old, text)
        first, *rest = render_entry("k", value, self._step, self._inset)
        indent = " " * self._column_of(entry.key.start)
        text = self._newline.join(
            [first[2:], *(f"{indent}{line}" if line else "" for line in rest)]
        )
        return self._splice(entry.colon, max(old.end, entry.colon), text)

    def _replace_item(self, parent: Items, position: int, value: Any) -> str:  # noqa: ANN401
        old = parent.items[position]
        if parent.flow:
            return self._splice(
                old.start, old.end, self._replace_in_flow(parent, old.start, old, value)
            )
        if isinstance(old, Scalar) and _is_small(value):
            return self._splice_value(parent.dashes[position] + 1, old, _render_small(value, old))
        indent = " " * self._column_of(parent.dashes[position])
        first, *rest = render_item(value, self._step, self._inset)
        text = self._newline.join([first, *(f"{indent}{line}" if line else "" for line in rest)])
        return self._splice(
            parent.dashes[position], max(old.end, parent.dashes[position] + 1), text
        )

    def _splice_value(self, behind: int, old: Node, text: str) -> str:
        """Return the text with *text* for *old*, or *behind* the sign where nothing stood."""
        if old.start == old.end:
            return self._splice(behind, behind, f" {text}")
        return self._splice(old.start, old.end, text)

    def _replace_literal(self, entry: Entry, old: Scalar, value: str) -> str:
        """Return the text with other lines in a block of lines; those that stay are not touched."""
        literal = render_literal(value)
        header, _, body = self._text[old.start : old.end].partition(self._newline)
        raw = body.split(self._newline)
        had = old.text.removesuffix("\n").split("\n")
        if literal is None or len(raw) != len(had) or header.strip() not in ("|", "|-"):
            text = self._write_literal(entry, value)
            return self._splice(old.start, old.end, text)
        sign, lines = literal
        indent = " " * next(len(line) - len(line.lstrip()) for line in raw if line.strip())
        kept: list[str] = []
        for tag, i, i_end, j, j_end in SequenceMatcher(
            None, had, lines, autojunk=False
        ).get_opcodes():
            new = [f"{indent}{line}" if line else "" for line in lines[j:j_end]]
            kept += raw[i:i_end] if tag == "equal" else new
        return self._splice(old.start, old.end, self._newline.join([sign, *kept]))

    def _write_literal(self, entry: Entry, value: str) -> str:
        literal = render_literal(value)
        if literal is None:
            return render_scalar(value)
        indent = " " * (self._column_of(entry.key.start) + self._step)
        return self._newline.join(
            [literal[0], *(f"{indent}{line}" if line else "" for line in literal[1])]
        )

    def _insert_in_flow(self, node: Items, position: int, value: Any) -> str:  # noqa: ANN401
        if position:
            before = node.items[position - 1]
            return self._append_in_flow(
                before.start, before.end, self._render_flow(node, before.start, value)
            )
        first = node.items[0].start
        gap = f",{self._newline}{' ' * self._column_of(first)}" if self._is_alone(first) else ", "
        return self._splice(first, first, self._render_flow(node, first, value) + gap)

    def _append_in_flow(self, start: int, end: int, text: str) -> str:
        """Return the text with *text* behind what stands from *start* to *end* in braces."""
        if not self._is_alone(start):
            return self._splice(end, end, f", {text}")
        indent = self._text[self._line_start_of(start) : start]
        return self._splice(end, end, f",{self._newline}{indent}{text}")

    def _replace_in_flow(self, parent: Map | Items, sibling: int, old: Node, value: Any) -> str:  # noqa: ANN401
        if isinstance(value, dict | list) or self._as_json:
            return self._render_flow(parent, sibling, value)
        return _render_small(value, old)

    def _render_flow(self, parent: Map | Items, sibling: int, value: Any) -> str:  # noqa: ANN401
        """Return *value* as text in braces, on several lines where *parent* is."""
        if not self._as_json or not self._is_alone(sibling):
            return render_flow(value, as_json=self._as_json)
        indent = self._text[self._line_start_of(sibling) : sibling]
        step = "\t" if "\t" in indent else self._json_indent_of(parent, sibling)
        lines = json.dumps(value, ensure_ascii=False, indent=step).split("\n")
        return f"{self._newline}{indent}".join(lines)

    def _json_indent_of(self, parent: Map | Items, sibling: int) -> int:
        line = self._text[self._line_start_of(parent.start) :]
        outer = len(line) - len(line.lstrip(" "))
        return max(self._column_of(sibling) - outer, 1)

    def _render_key(self, key: str) -> str:
        return json.dumps(key, ensure_ascii=False) if self._as_json else render_scalar(key)

    def _insert_below(self, end: int, indent: int, lines: list[str]) -> str:
        """Return the text with *lines* below the line on which *end* is."""
        at = self._line_end_of(end)
        block = "".join(
            f"{self._newline}{' ' * indent}{line}" if line else self._newline for line in lines
        )
        if self._text[at - 1 : at] == "\r":
            at -= 1
        return self._splice(at, at, block)

    def _is_alone(self, start: int) -> bool:
        return not self._text[self._line_start_of(start) : start].strip()

    def _column_of(self, offset: int) -> int:
        return offset - self._line_start_of(offset)

    def _line_start_of(self, offset: int) -> int:
        return max(self._text.rfind("\n", 0, offset) + 1, self._text.startswith("\ufeff"))

    def _line_end_of(self, offset: int) -> int:
        found = self._text.find("\n", offset)
        return len(self._text) if found < 0 else found

    def _splice(self, start: int, end: int, text: str) -> str:
        return f"{self._text[:start]}{text}{self._text[end:]}"


def _child_of(node: Node, step: str | int) -> Node:
    if isinstance(node, Map) and (entry := node.entry(str(step))):
        return entry.value
    if isinstance(node, Items) and isinstance(step, int) and step < len(node.items):
        return node.items[step]
    raise CannotEdit(SHARED)


def _spans_of(parent: Map | Items, step: str | int) -> tuple[int, list[tuple[int, int]]]:
    """Return the position of *step* in *parent*, and where each of its parts begins and ends."""
    if isinstance(parent, Items):
        starts = parent.dashes or tuple(each.start for each in parent.items)
        pairs = zip(starts, parent.items, strict=True)
        return int(step), [(start, max(item.end, start + 1)) for start, item in pairs]
    names = [each.key.text for each in parent.entries]
    if step not in names:
        raise CannotEdit(SHARED)
    return names.index(str(step)), [
        (each.key.start, max(each.value.end, each.colon)) for each in parent.entries
    ]


def _is_json(root: Node) -> bool:
    if isinstance(root, Items) and root.flow:
        return not root.items or _is_json(root.items[0])
    keys = root.entries if isinstance(root, Map) and root.flow else ()
    return bool(keys) and all(each.key.style == '"' for each in keys)


def _is_small(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether *value* goes on the line of its key."""
    if isinstance(value, dict | list):
        return not value
    return not (isinstance(value, str) and render_literal(value))


def _render_small(value: Any, old: Node) -> str:  # noqa: ANN401 - any JSON value
    """Return *value* on one line, quoted as *old* was."""
    if isinstance(value, dict | list):
        return render_flow(value, as_json=False)
    return render_scalar(value, old.style if isinstance(old, Scalar) else "")


def _indents_of(root: Node, column: Callable[[int], int]) -> tuple[int, int]:
    """Return how far this document indents maps, and lists, below their keys."""
    steps: dict[type, int] = {}
    pending: list[Node] = [root]
    while pending and len(steps) < 2:  # noqa: PLR2004 - maps and lists
        node = pending.pop()
        if isinstance(node, Map):
            for entry in node.entries:
                below = entry.value
                if isinstance(below, Map | Items) and not (below.flow or node.flow):
                    steps.setdefault(type(below), column(below.start) - column(entry.key.start))
            pending += [entry.value for entry in reversed(node.entries)]
        elif isinstance(node, Items):
            pending += reversed(node.items)
    step = max(steps.get(Map, _DEFAULT_STEP), 1)
    return step, max(steps.get(Items, 0 if Map in steps else _DEFAULT_STEP), 0)


_FILLED_IN: Final = {"protocol": "TCP"}

Steps = tuple[Step, ...]


def found_at(value: Value, steps: Steps) -> Value:
    """Return what *steps* lead to from *value*, `ABSENT` if nothing."""
    at = location_of(value, steps)
    if at is None:
        return ABSENT
    for step in at:
        value = value[step]
    return value


def location_of(value: Value, steps: Steps) -> Location | None:
    """Return *steps* as keys and positions, nothing where they lead nowhere."""
    at: list[str | int] = []
    for step in steps:
        key = _key_in(value, step)
        if key is None:
            return None
        at.append(key)
        value = value[key]
    return tuple(at)


def set_value(value: Value, steps: Steps, new: Value, live: Value = ABSENT) -> Value:
    """Return *value* with *new* where *steps* lead; `ABSENT` takes away what stands there.

    What is missing on the way is made. *live* is what *value* is like live: an item that is added
    to a list goes where it is there.
    """
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if isinstance(step, Order):
        raise CannotPlace("only the order of a list differs, which is not written back")
    below = found_at(live, (step,))
    if isinstance(step, Key):
        return _set_key(value, step.name, rest, new, below)
    return _set_item(value, step, rest, new, live)


def _set_key(value: Value, name: str, rest: Steps, new: Value, below: Value) -> Value:
    around = {} if value is ABSENT or value is None else value
    if not isinstance(around, dict):
        raise CannotPlace(f"there is no map to hold {name!r}")
    inside = set_value(around.get(name, ABSENT), rest, new, below)
    if inside is not ABSENT:
        return {**around, name: inside}
    return (
        {key: each for key, each in around.items() if key != name}
        if value is not ABSENT
        else ABSENT
    )


def _set_item(
    value: Value, step: Select | Member | Index, rest: Steps, new: Value, live: Value
) -> Value:
    items = [] if value is ABSENT or value is None else value
    if not isinstance(items, list):
        raise CannotPlace("there is no list to hold the item")
    position = _position_of(items, step)
    if position is None:
        return _add_item(items, step, rest, new, live)
    inside = set_value(items[position], rest, new, found_at(live, (step,)))
    after = items[position + 1 :]
    return [*items[:position], *(() if inside is ABSENT else (inside,)), *after]


def _add_item(
    items: list[Any], step: Select | Member | Index, rest: Steps, new: Value, live: Value
) -> list[Any]:
    if new is ABSENT:
        return items
    if isinstance(step, Index) and step.index != len(items):
        raise CannotPlace("the list there is not the one that is live")
    start: Value = dict(step.keys) if isinstance(step, Select) else ABSENT
    item = set_value(start, rest, new, found_at(live, (step,)))
    position = _place_of(items, step, live)
    return [*items[:position], item, *items[position:]]


def _place_of(items: list[Any], step: Select | Member | Index, live: Value) -> int:
    """Return where the new item goes: behind the one that it follows in the live list."""
    if isinstance(step, Index) or not isinstance(live, list):
        return len(items)
    keys, _ = target_of(step)
    there = _position_of(live, step)
    for before in reversed(live[: there or 0]):
        identity = identity_of(before, keys)
        for position, item in enumerate(items):
            if identity_of(_complete(item, keys), keys) == identity is not None:
                return position + 1
    return 0 if there == 0 else len(items)


def _key_in(value: Value, step: Step) -> str | int | None:
    if isinstance(step, Key):
        return step.name if isinstance(value, dict) and step.name in value else None
    if isinstance(step, Order) or not isinstance(value, list):
        return None
    return _position_of(value, step)


def _position_of(items: list[Any], step: Select | Member | Index) -> int | None:
    if isinstance(step, Index):
        return step.index if step.index < len(items) else None
    keys, identity = target_of(step)
    for position, item in enumerate(items):
        if identity_of(_complete(item, keys), keys) == identity:
            return position
    return None


def _complete(item: Any, keys: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON value
    if not isinstance(item, dict):
        return item
    return {key: default for key, default in _FILLED_IN.items() if key in keys} | item
