"""Patterns along many paths: no rule about fields costs more than the size of what changes."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from glasswarden.kube.path_folds import Fold
from glasswarden.kube.path_patterns import PathPattern, States
from glasswarden.kube.paths import Index, Key, Member, Path, Select, Step


class Reached(NamedTuple):
    """How a pattern stands to a path."""

    states: States
    passed: bool
    """Whether the pattern matches the path, or something around it."""


class Walk:
    """One pattern along any number of paths."""

    def __init__(self, pattern: PathPattern) -> None:
        self.pattern = pattern
        self._end = len(pattern.parts)
        start = Reached(pattern.start, self._end in pattern.start)
        self._fold = Fold(start, self._after)

    def at(self, path: Path) -> Reached:
        """Return how far the pattern has come when *path* has been walked."""
        return self._fold.at(path)

    def _after(self, before: Reached, path: Path) -> Reached:
        if not before.states or path.step is None:
            return before
        states = self.pattern.after(before.states, (path.step,))
        return Reached(states, before.passed or self._end in states)


def walks_of(patterns: Sequence[PathPattern]) -> list[Walk]:
    """Return *patterns*, ready to be taken along many paths."""
    return [Walk(pattern) for pattern in patterns]


def covers(walks: Sequence[Walk], path: Path, *values: Any) -> bool:  # noqa: ANN401 - JSON
    """Tell whether one of the patterns matches *path*, or they match all that *values* hold there.

    A change that adds a whole map is then as welcome as the same change, field by field.
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
        for steps, child in _children(value):
            rows = zip(patterns, states, strict=True)
            pending.append(([pattern.after(at, steps) for pattern, at in rows], child))
    return True


def overlaps(walk: Walk, path: Path, *values: Any) -> bool:  # noqa: ANN401 - JSON
    """Tell whether the pattern matches *path*, something around it, or something in *values*."""
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
            pending += ((pattern.after(states, steps), child) for steps, child in _children(value))
    return False


def _children(value: dict[str, Any] | list[Any]) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Yield each child with the steps that may lead to it: its list's merge keys are not known."""
    if isinstance(value, dict):
        yield from (((Key(name),), child) for name, child in value.items())
        return
    for index, item in enumerate(value):
        by_value = Select(tuple(item.items())) if isinstance(item, dict) else Member(item)
        yield (Index(index), by_value), item
