"""The fields that were changed under a grant, as few paths as say it."""

from collections.abc import Iterable
from typing import Final

from glasswarden.kube.diff import Change
from glasswarden.kube.paths import Path, parse_path, path_of

MOST_HELD: Final = 100
"""They stand in an annotation; a write that changes more is remembered by what is around."""


def merged(held: Iterable[str], changes: Iterable[Change]) -> tuple[str, ...]:
    """Return *held* and the paths of *changes*, sorted, without what lies below another of them."""
    paths = {parse_path(text) for text in held} | {change.path for change in changes}
    depth = max((len(path.steps) for path in paths), default=0)
    found = _outermost(paths)
    while len(found) > MOST_HELD:
        depth -= 1
        found = _outermost({path_of(*path.steps[:depth]) for path in found})
    return tuple(sorted(map(str, found)))


def _outermost(paths: set[Path]) -> set[Path]:
    known = {path.steps for path in paths}
    return {
        path
        for path in paths
        if not any(path.steps[:length] in known for length in range(len(path.steps)))
    }
