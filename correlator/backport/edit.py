"""A text that means another value, with no line touched that need not be.

The file is never dumped: what differs between the two values is spliced into the text, one small
edit after another, and the result is read again. Comments, order, quotes, indentation, separators
and line endings of everything else stay, because nothing ever handles them.

A value with one field set, by the path that a record gives it.

Live objects are more complete than manifests: a merge key that the API server fills in may be
missing, and then the item that is meant is the only one that fits.
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
    entry_lines,
    flow_text,
    item_lines,
    literal_lines,
    node_of,
    pieces_of,
    scalar_text,
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


def rewritten(text: str, index: int, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return *text* with its document *index* meaning *value*, or raise `CannotEdit`."""
    after = text
    for edit in _edits(value_of(_piece(text, index)), value, ()):
        after = edit(_Document(after, index))
    if not _means(after, index, value):
        raise CannotEdit("an anchor, an alias or an uncommon notation is in the way")
    return after


def _means(text: str, index: int, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    try:
        return is_identical(value_of(_piece(text, index)), value)
    except CannotEdit:
        return False


def _piece(text: str, index: int) -> Piece:
    pieces = pieces_of(text)
    if index >= len(pieces):
        raise CannotEdit("the document is gone")
    return pieces[index]


_Edit: TypeAlias = Callable[["_Document"], str]


def _edits(old: Any, new: Any, at: Location) -> Iterator[_Edit]:  # noqa: ANN401 - JSON values
    """Yield the smallest edits that lead from *old* to *new*, each on what those before it left."""
    if is_identical(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        yield from _map_edits(old, new, at)
    elif isinstance(old, list) and isinstance(new, list) and old and new:
        yield from _list_edits(old, new, at)
    else:
        yield lambda document: document.replaced(at, new)


def _map_edits(old: dict[str, Any], new: dict[str, Any], at: Location) -> Iterator[_Edit]:
    if not old.keys() & new.keys():
        yield lambda document: document.replaced(at, new)
        return
    for key, value in new.items():
        if key in old:
            yield from _edits(old[key], value, (*at, key))
    for key in old.keys() - new.keys():
        yield _removal((*at, key))
    for key, value in new.items():
        if key not in old:
            yield _addition(at, key, value)


def _list_edits(old: list[Any], new: list[Any], at: Location) -> Iterator[_Edit]:
    """Yield edits from the end of the list to its beginning, so that positions hold."""
    had, has = ([json.dumps(each, sort_keys=True) for each in items] for items in (old, new))
    matched = SequenceMatcher(None, had, has, autojunk=False)
    if not matched.find_longest_match().size and len(old) != len(new):
        yield lambda document: document.replaced(at, new)
        return
    for _, i, i_end, j, j_end in reversed(matched.get_opcodes()):
        paired = min(i_end - i, j_end - j)
        for position in reversed(range(i + paired, i_end)):
            yield _removal((*at, position))
        for place in reversed(range(j + paired, j_end)):
            yield _insertion(at, i + paired, new[place])
        for each in range(paired):
            yield from _edits(old[i + each], new[j + each], (*at, i + each))


def _removal(at: Location) -> _Edit:
    return lambda document: document.without(at)


def _addition(at: Location, key: str, value: Any) -> _Edit:  # noqa: ANN401 - any JSON value
    return lambda document: document.with_key(at, key, value)


def _insertion(at: Location, position: int, value: Any) -> _Edit:  # noqa: ANN401 - any JSON value
    return lambda document: document.with_item(at, position, value)


class _Document:
    """One document of a text, ready to be edited once."""

    def __init__(self, text: str, index: int) -> None:
        self._text = text
        self._piece = _piece(text, index)
        self._root = node_of(self._piece)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._as_json = _is_json(self._root)
        self._step, self._inset = _habits(self._root, self._column)

    def replaced(self, at: Location, value: Any) -> str:  # noqa: ANN401 - any JSON value
        """Return the text with *value* at the place *at*."""
        if not at:
            raise CannotEdit("the whole document would have to be written anew")
        parent, step = self._parent(at), at[-1]
        if isinstance(parent, Map):
            entry = parent.entry(str(step))
            if entry is None:  # it came with a merged map, which others share
                return self.with_key(at[:-1], str(step), value)
            return self._replaced_value(parent, entry, value)
        return self._replaced_item(parent, int(step), value)

    def with_key(self, at: Location, key: str, value: Any) -> str:  # noqa: ANN401
        """Return the text with the new *key* at the end of the map *at*."""
        node = self._node(at)
        if not isinstance(node, Map):
            raise CannotEdit(SHARED)
        if not node.entries:
            return self.replaced(at, {key: value})
        if node.flow:
            text = f"{self._key(key)}: {self._flow(node, node.entries[-1].key.start, value)}"
            last = max(node.entries[-1].value.end, node.entries[-1].key.end)
            return self._after_in_flow(node.entries[-1].key.start, last, text)
        indent = self._column(node.entries[0].key.start)
        return self._below(node.end, indent, entry_lines(key, value, self._step, self._inset))

    def with_item(self, at: Location, position: int, value: Any) -> str:  # noqa: ANN401
        """Return the text with *value* in the list *at*, before the item at *position*."""
        node = self._node(at)
        if not isinstance(node, Items) or not node.items:
            raise CannotEdit(SHARED)
        if node.flow:
            return self._item_in_flow(node, position, value)
        indent = self._column(node.dashes[0])
        lines = item_lines(value, self._step, self._inset)
        if position:
            before = node.items[position - 1]
            return self._below(max(before.end, node.dashes[position - 1] + 1), indent, lines)
        # What stands before the first dash may be a key or another dash.
        text = self._newline.join([lines[0], *(f"{' ' * indent}{line}" for line in lines[1:])])
        return self._spliced(node.start, node.start, f"{text}{self._newline}{' ' * indent}")

    def without(self, at: Location) -> str:
        """Return the text without what stands *at*."""
        parent = self._parent(at)
        position, spans = _spans(parent, at[-1])
        if len(spans) == 1:
            return self.replaced(at[:-1], {} if isinstance(parent, Map) else [])
        start, end = spans[position]
        is_last = position + 1 == len(spans)
        if not is_last and (parent.flow or not self._is_alone(start)):
            return self._spliced(start, spans[position + 1][0], "")
        if parent.flow:
            return self._spliced(spans[position - 1][1], end, "")
        return self._without_lines(self._line_start(start), self._line_end(end))

    def _without_lines(self, start: int, end: int) -> str:
        if end < len(self._text):
            return self._spliced(start, end + 1, "")
        return self._spliced(max(start - len(self._newline), 0), end, "")

    def _parent(self, at: Location) -> Map | Items:
        node = self._node(at[:-1])
        if not isinstance(node, Map | Items):
            raise CannotEdit(SHARED)
        return node

    def _node(self, at: Location) -> Node:
        node = self._root
        for step in at:
            node = _child(node, step)
        return node

    def _replaced_value(self, parent: Map, entry: Entry, value: Any) -> str:  # noqa: ANN401
        old = entry.value
        if parent.flow:
            text = self._in_flow(parent, entry.key.start, old, value)
            return self._spliced_value(entry.colon, old, text)
        if isinstance(old, Scalar) and old.style == "|" and isinstance(value, str):
            return self._literal(entry, old, value)
        if _is_small(value):
            text = _small(value, old)
            if isinstance(old, Map | Items) and not old.flow:
                return self._spliced(entry.colon, old.end, f" {text}")
            return self._spliced_value(entry.colon, old, text)
        first, *rest = entry_lines("k", value, self._step, self._inset)
        indent = " " * self._column(entry.key.start)
        text = self._newline.join(
            [first[2:], *(f"{indent}{line}" if line else "" for line in rest)]
        )
        return self._spliced(entry.colon, max(old.end, entry.colon), text)

    def _replaced_item(self, parent: Items, position: int, value: Any) -> str:  # noqa: ANN401
        old = parent.items[position]
        if parent.flow:
            return self._spliced(old.start, old.end, self._in_flow(parent, old.start, old, value))
        if isinstance(old, Scalar) and _is_small(value):
            return self._spliced_value(parent.dashes[position] + 1, old, _small(value, old))
        indent = " " * self._column(parent.dashes[position])
        first, *rest = item_lines(value, self._step, self._inset)
        text = self._newline.join([first, *(f"{indent}{line}" if line else "" for line in rest)])
        return self._spliced(
            parent.dashes[position], max(old.end, parent.dashes[position] + 1), text
        )

    def _spliced_value(self, behind: int, old: Node, text: str) -> str:
        """Return the text with *text* for *old*, or *behind* the sign where nothing stood."""
        if old.start == old.end:
            return self._spliced(behind, behind, f" {text}")
        return self._spliced(old.start, old.end, text)

    def _literal(self, entry: Entry, old: Scalar, value: str) -> str:
        """Return the text with other lines in a block of lines; those that stay are not touched."""
        literal = literal_lines(value)
        header, _, body = self._text[old.start : old.end].partition(self._newline)
        raw = body.split(self._newline)
        had = old.text.removesuffix("\n").split("\n")
        if literal is None or len(raw) != len(had) or header.strip() not in ("|", "|-"):
            text = self._fresh_literal(entry, value)
            return self._spliced(old.start, old.end, text)
        sign, lines = literal
        indent = " " * next(len(line) - len(line.lstrip()) for line in raw if line.strip())
        kept: list[str] = []
        for tag, i, i_end, j, j_end in SequenceMatcher(
            None, had, lines, autojunk=False
        ).get_opcodes():
            new = [f"{indent}{line}" if line else "" for line in lines[j:j_end]]
            kept += raw[i:i_end] if tag == "equal" else new
        return self._spliced(old.start, old.end, self._newline.join([sign, *kept]))

    def _fresh_literal(self, entry: Entry, value: str) -> str:
        literal = literal_lines(value)
        if literal is None:
            return scalar_text(value)
        indent = " " * (self._column(entry.key.start) + self._step)
        return self._newline.join(
            [literal[0], *(f"{indent}{line}" if line else "" for line in literal[1])]
        )

    def _item_in_flow(self, node: Items, position: int, value: Any) -> str:  # noqa: ANN401
        if position:
            before = node.items[position - 1]
            return self._after_in_flow(
                before.start, before.end, self._flow(node, before.start, value)
            )
        first = node.items[0].start
        gap = f",{self._newline}{' ' * self._column(first)}" if self._is_alone(first) else ", "
        return self._spliced(first, first, self._flow(node, first, value) + gap)

    def _after_in_flow(self, start: int, end: int, text: str) -> str:
        """Return the text with *text* behind what stands from *start* to *end* in braces."""
        if not self._is_alone(start):
            return self._spliced(end, end, f", {text}")
        indent = self._text[self._line_start(start) : start]
        return self._spliced(end, end, f",{self._newline}{indent}{text}")

    def _in_flow(self, parent: Map | Items, sibling: int, old: Node, value: Any) -> str:  # noqa: ANN401
        if isinstance(value, dict | list) or self._as_json:
            return self._flow(parent, sibling, value)
        return _small(value, old)

    def _flow(self, parent: Map | Items, sibling: int, value: Any) -> str:  # noqa: ANN401
        """Return *value* as text in braces, on several lines where *parent* is."""
        if not self._as_json or not self._is_alone(sibling):
            return flow_text(value, as_json=self._as_json)
        indent = self._text[self._line_start(sibling) : sibling]
        step = "\t" if "\t" in indent else self._json_step(parent, sibling)
        lines = json.dumps(value, ensure_ascii=False, indent=step).split("\n")
        return f"{self._newline}{indent}".join(lines)

    def _json_step(self, parent: Map | Items, sibling: int) -> int:
        line = self._text[self._line_start(parent.start) :]
        outer = len(line) - len(line.lstrip(" "))
        return max(self._column(sibling) - outer, 1)

    def _key(self, key: str) -> str:
        return json.dumps(key, ensure_ascii=False) if self._as_json else scalar_text(key)

    def _below(self, end: int, indent: int, lines: list[str]) -> str:
        """Return the text with *lines* below the line on which *end* is."""
        at = self._line_end(end)
        block = "".join(
            f"{self._newline}{' ' * indent}{line}" if line else self._newline for line in lines
        )
        if self._text[at - 1 : at] == "\r":
            at -= 1
        return self._spliced(at, at, block)

    def _is_alone(self, start: int) -> bool:
        return not self._text[self._line_start(start) : start].strip()

    def _column(self, offset: int) -> int:
        return offset - self._line_start(offset)

    def _line_start(self, offset: int) -> int:
        return max(self._text.rfind("\n", 0, offset) + 1, self._text.startswith("\ufeff"))

    def _line_end(self, offset: int) -> int:
        found = self._text.find("\n", offset)
        return len(self._text) if found < 0 else found

    def _spliced(self, start: int, end: int, text: str) -> str:
        return f"{self._text[:start]}{text}{self._text[end:]}"


def _child(node: Node, step: str | int) -> Node:
    if isinstance(node, Map) and (entry := node.entry(str(step))):
        return entry.value
    if isinstance(node, Items) and isinstance(step, int) and step < len(node.items):
        return node.items[step]
    raise CannotEdit(SHARED)


def _spans(parent: Map | Items, step: str | int) -> tuple[int, list[tuple[int, int]]]:
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
    """Tell whether *value* goes on the line of its key."""
    if isinstance(value, dict | list):
        return not value
    return not (isinstance(value, str) and literal_lines(value))


def _small(value: Any, old: Node) -> str:  # noqa: ANN401 - any JSON value
    """Return *value* on one line, quoted as *old* was."""
    if isinstance(value, dict | list):
        return flow_text(value, as_json=False)
    return scalar_text(value, old.style if isinstance(old, Scalar) else "")


def _habits(root: Node, column: Callable[[int], int]) -> tuple[int, int]:
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


def with_value(value: Value, steps: Steps, new: Value, live: Value = ABSENT) -> Value:
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
        return _with_key(value, step.name, rest, new, below)
    return _with_item(value, step, rest, new, live)


def _with_key(value: Value, name: str, rest: Steps, new: Value, below: Value) -> Value:
    around = {} if value is ABSENT or value is None else value
    if not isinstance(around, dict):
        raise CannotPlace(f"there is no map to hold {name!r}")
    inside = with_value(around.get(name, ABSENT), rest, new, below)
    if inside is not ABSENT:
        return {**around, name: inside}
    return (
        {key: each for key, each in around.items() if key != name}
        if value is not ABSENT
        else ABSENT
    )


def _with_item(
    value: Value, step: Select | Member | Index, rest: Steps, new: Value, live: Value
) -> Value:
    items = [] if value is ABSENT or value is None else value
    if not isinstance(items, list):
        raise CannotPlace("there is no list to hold the item")
    position = _position(items, step)
    if position is None:
        return _with_new_item(items, step, rest, new, live)
    inside = with_value(items[position], rest, new, found_at(live, (step,)))
    after = items[position + 1 :]
    return [*items[:position], *(() if inside is ABSENT else (inside,)), *after]


def _with_new_item(
    items: list[Any], step: Select | Member | Index, rest: Steps, new: Value, live: Value
) -> list[Any]:
    if new is ABSENT:
        return items
    if isinstance(step, Index) and step.index != len(items):
        raise CannotPlace("the list there is not the one that is live")
    start: Value = dict(step.keys) if isinstance(step, Select) else ABSENT
    item = with_value(start, rest, new, found_at(live, (step,)))
    position = _place_of(items, step, live)
    return [*items[:position], item, *items[position:]]


def _place_of(items: list[Any], step: Select | Member | Index, live: Value) -> int:
    """Return where the new item goes: behind the one that it follows in the live list."""
    if isinstance(step, Index) or not isinstance(live, list):
        return len(items)
    keys, _ = target_of(step)
    there = _position(live, step)
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
    return _position(value, step)


def _position(items: list[Any], step: Select | Member | Index) -> int | None:
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
