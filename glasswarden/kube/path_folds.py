"""A value at each of many paths, made step by step; what they have in common is walked once.

An object may have a hundred thousand fields at the end of a thousand steps. To walk each of their
paths by itself would take a minute.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from glasswarden.kube.paths import Path

T = TypeVar("T")


class Fold(Generic[T]):
    """*start* at the root; at every other path, what *after* makes of the value at its parent."""

    def __init__(self, start: T, after: Callable[[T, Path], T]) -> None:
        self._start = start
        self._after = after
        self._known: dict[int, tuple[Path, T]] = {}
        """The values at paths that others go on from, by their identity: to hash one takes as long
        as to walk it. Each is held here, so that no other can have its number."""

    def at(self, path: Path) -> T:
        """Return the value at *path*."""
        ahead: list[Path] = []
        node = path
        while node.parent is not None and id(node) not in self._known:
            ahead.append(node)
            node = node.parent
        value = self._start if node.parent is None else self._known[id(node)][1]
        for each in reversed(ahead):
            value = self._after(value, each)
            if each is not path:
                self._known[id(each)] = (each, value)
        return value
