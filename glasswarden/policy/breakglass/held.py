"""The fields that were changed under a grant, as few paths as say it."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from glasswarden.kube.diff import Change
from glasswarden.kube.paths import Step, parse_path, path_of

MOST_HELD: Final = 100
"""They stand in an annotation; a write that changes more is remembered by what is around."""

CROWD: Final = 10
"""As many fields side by side are then said by the one that they stand in."""

Steps = tuple[Step, ...]


def merged(held: Iterable[str], changes: Iterable[Change]) -> tuple[str, ...]:
    """Return *held* and the paths of *changes*, sorted, without what lies below another of them."""
    steps = {parse_path(text).steps for text in held} | {change.path.steps for change in changes}
    found = _outermost(steps)
    for depth in range(max(map(len, found), default=0) - 1, 0, -1):
        if len(found) <= MOST_HELD:
            break
        found = _outermost(found | _crowded(found, depth))
    return tuple(sorted(str(path_of(*each)) for each in found))


def _outermost(paths: set[Steps]) -> set[Steps]:
    return {
        path for path in paths if not any(path[:length] in paths for length in range(len(path)))
    }


def _crowded(paths: set[Steps], depth: int) -> set[Steps]:
    counted = Counter(path[:depth] for path in paths if len(path) > depth)
    return {place for place, number in counted.items() if number > CROWD}
