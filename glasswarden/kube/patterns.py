"""Patterns of field paths, for rules about fields.

A pattern is written like a path, with stars: ``/*`` matches any one step, ``[*]`` any item of a
list, ``/**`` any number of steps, including none; a star within a key or value matches any text. A
selector may name only some of an item's merge keys. Quotes and ``~3`` make a star literal, so the
text of every path is also a pattern, one without wildcards.

`Walk` matches a pattern against many paths, so that no rule about fields costs more than the
size of the change.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from glasswarden.kube.paths import (
    Fold,
    Index,
    Key,
    KeyToken,
    Member,
    Order,
    Path,
    PathError,
    Scalar,
    Select,
    SelectorToken,
    Step,
    Token,
    Word,
    parse_item,
    scalar_of,
    tokens_of,
    unescape,
    unescape_key,
)


class Glob(msgspec.Struct, frozen=True):
    """Text with stars, as the pieces between them."""

    pieces: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Return whether *text* contains the pieces in their order, without backtracking."""
        first, *middle, last = self.pieces
        position, end = len(first), len(text) - len(last)
        if position > end or not text.startswith(first) or not text.endswith(last):
            return False
        for piece in middle:
            found = text.find(piece, position, end)
            if found < 0:
                return False
            position = found + len(piece)
        return True


class AnySteps(msgspec.Struct, frozen=True):
    """``/**``."""


class AnyStep(msgspec.Struct, frozen=True):
    """``/*``."""

    def matches(self, step: Step) -> bool:  # noqa: ARG002 - any step
        """Return true: any step matches."""
        return True


class AnyItem(msgspec.Struct, frozen=True):
    """``[*]``."""

    def matches(self, step: Step) -> bool:
        """Return whether *step* leads to an item, or to the order of items."""
        return not isinstance(step, Key)


class KeyLike(msgspec.Struct, frozen=True):
    """``/key``, perhaps with stars."""

    like: Glob | str

    def matches(self, step: Step) -> bool:
        """Return whether *step* leads to such a key."""
        return isinstance(step, Key) and _is_like(step.name, self.like)


class ItemAt(msgspec.Struct, frozen=True):
    """``[3]`` or ``[order]``."""

    step: Index | Order

    def matches(self, step: Step) -> bool:
        """Return whether *step* is this one."""
        return step == self.step


class MemberLike(msgspec.Struct, frozen=True):
    """``[=value]``, perhaps with stars."""

    like: Glob | Scalar

    def matches(self, step: Step) -> bool:
        """Return whether *step* leads to such a value."""
        return isinstance(step, Member) and _is_like(step.value, self.like)


class SelectLike(msgspec.Struct, frozen=True):
    """``[name=value]``, perhaps with stars."""

    likes: tuple[tuple[str, Glob | Scalar], ...]

    def matches(self, step: Step) -> bool:
        """Return whether *step* leads to an item with such values."""
        if not isinstance(step, Select):
            return False
        keys = dict(step.keys)
        return all(name in keys and _is_like(keys[name], like) for name, like in self.likes)


Part: TypeAlias = AnySteps | AnyStep | AnyItem | KeyLike | ItemAt | MemberLike | SelectLike

States: TypeAlias = frozenset[int]
"""The numbers of parts that are matched so far, one for each way that ``/**`` allows."""


class PathPattern(msgspec.Struct, frozen=True):
    """A parsed pattern; `parse_pattern` creates one."""

    text: str
    parts: tuple[Part, ...]
    skips: bool
    """Whether ``/**`` is among the parts: then a path may match in several ways."""
    start: States
    """The states before the first step."""
    stem: tuple[Key, ...]
    """The steps that every matching path begins with."""

    def __str__(self) -> str:
        return self.text

    def matches(self, path: Path) -> bool:
        """Return whether *path* is one of the fields that the pattern names."""
        return len(self.parts) in self.states_at(path)

    def is_near(self, path: Path) -> bool:
        """Return whether the pattern may match *path*, a parent or a child: a quick check."""
        steps = path.steps
        return steps[: len(self.stem)] == self.stem[: len(steps)]

    def states_at(self, path: Path) -> States:
        """Return the states after all steps of *path*."""
        states = self.start
        for step in path.steps:
            if not states:
                break  # it matches nothing below here
            states = self.after(states, (step,))
        return states

    def after(self, states: States, steps: tuple[Step, ...]) -> States:
        """Return the states after one more step, which may be any of *steps*."""
        reached = set()
        for state in states - {len(self.parts)}:
            part = self.parts[state]
            if isinstance(part, AnySteps):
                reached.add(state)
            elif any(map(part.matches, steps)):
                reached.add(state + 1)
        return _add_skips(self.parts, reached) if self.skips else frozenset(reached)


def _add_skips(parts: tuple[Part, ...], states: set[int]) -> States:
    # `/**` may match no step at all.
    for state, part in enumerate(parts):
        if state in states and isinstance(part, AnySteps):
            states.add(state + 1)
    return frozenset(states)


def parse_pattern(text: str) -> PathPattern:
    """Return the pattern that *text* spells, or raise `PathError`."""
    parts = tuple(map(_parse_part, tokens_of(text)))
    start, stem = _add_skips(parts, {0}), tuple(_stem_of(parts))
    return PathPattern(text, parts, AnySteps() in parts, start, stem)


def _stem_of(parts: tuple[Part, ...]) -> Iterator[Key]:
    for part in parts:
        if not isinstance(part, KeyLike) or isinstance(part.like, Glob):
            return
        yield Key(part.like)


def _parse_part(token: Token) -> Part:
    match token:
        case KeyToken(raw="**"):
            return AnySteps()
        case KeyToken(raw="*"):
            return AnyStep()
        case KeyToken():
            return KeyLike(_parse_key_like(token))
        case SelectorToken(parts=((None, value),)) if value is not None:
            return MemberLike(_parse_value_like(value, token.position))
        case SelectorToken(parts=((name, None),)) if name is not None and not name.quoted:
            return AnyItem() if name.text == "*" else ItemAt(parse_item(name.text, token.position))
        case _:
            return SelectLike(tuple(_parse_likes(token)))


def _parse_likes(token: SelectorToken) -> Iterator[tuple[str, Glob | Scalar]]:
    for name, value in token.parts:
        if name is None or value is None:
            raise PathError("expected name=value", token.position)
        yield name.text, _parse_value_like(value, token.position)


def _parse_key_like(token: KeyToken) -> Glob | str:
    pieces = token.raw.split("*")
    if len(pieces) == 1:
        return unescape_key(token)
    return Glob(tuple(unescape(raw, token.position) for raw in pieces))


def _parse_value_like(word: Word, position: int) -> Glob | Scalar:
    if word.quoted or "*" not in word.text:
        return scalar_of(word, position)
    return Glob(tuple(word.text.split("*")))


def _is_like(value: Scalar, like: Glob | Scalar) -> bool:
    if isinstance(like, Glob):
        return isinstance(value, str) and like.matches(value)
    return value == like


class Progress(NamedTuple):
    """How far a pattern matches a path."""

    states: States
    passed: bool
    """Whether the pattern matches the path, or a parent of it."""


class Walk:
    """Matches one pattern against any number of paths."""

    def __init__(self, pattern: PathPattern) -> None:
        self.pattern = pattern
        self._end = len(pattern.parts)
        start = Progress(pattern.start, self._end in pattern.start)
        self._fold = Fold(start, self._after)

    def at(self, path: Path) -> Progress:
        """Return how far the pattern matches *path*."""
        return self._fold.at(path)

    def _after(self, before: Progress, path: Path) -> Progress:
        if not before.states or path.step is None:
            return before
        states = self.pattern.after(before.states, (path.step,))
        return Progress(states, before.passed or self._end in states)


def walks_of(patterns: Sequence[PathPattern]) -> list[Walk]:
    """Return a `Walk` for each of *patterns*."""
    return [Walk(pattern) for pattern in patterns]


def covers(walks: Sequence[Walk], path: Path, *values: Any) -> bool:  # noqa: ANN401 - JSON
    """Return whether one pattern matches *path*, or together they match all that *values* contain.

    So a change that adds a whole map is covered like the same change, field by field.
    """
    patterns = [walk.pattern for walk in walks]
    reached = [walk.at(path).states for walk in walks]
    pending = [(reached, value) for value in values]
    while pending:
        states, value = pending.pop()
        if any(len(pattern.parts) in at for pattern, at in zip(patterns, states, strict=True)):
            continue
        if not any(states) or not value or not isinstance(value, dict | list):
            return False
        for steps, child in _children_of(value):
            rows = zip(patterns, states, strict=True)
            pending.append(([pattern.after(at, steps) for pattern, at in rows], child))
    return True


def overlaps(walk: Walk, path: Path, *values: Any) -> bool:  # noqa: ANN401 - JSON
    """Return whether the pattern matches *path*, a parent of it, or something in *values*."""
    reached, pattern = walk.at(path), walk.pattern
    if reached.passed:
        return True
    end = len(pattern.parts)
    pending = [(reached.states, value) for value in values]
    while pending:
        states, value = pending.pop()
        if end in states:
            return True
        if states and isinstance(value, dict | list):
            pending += (
                (pattern.after(states, steps), child) for steps, child in _children_of(value)
            )
    return False


def _children_of(value: dict[str, Any] | list[Any]) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Yield each child with the steps that may lead to it: the merge keys are unknown here."""
    if isinstance(value, dict):
        yield from (((Key(name),), child) for name, child in value.items())
        return
    for index, item in enumerate(value):
        by_value = Select(tuple(item.items())) if isinstance(item, dict) else Member(item)
        yield (Index(index), by_value), item
