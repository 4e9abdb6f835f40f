"""The fields that were changed under a grant, as few paths as say it.

They stand in the stamp, which stands in an annotation: so many bytes, and no more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from glasswarden.kube.diff import Change
from glasswarden.kube.fields import changed_fields
from glasswarden.kube.objects import Ref
from glasswarden.kube.path_folds import Fold
from glasswarden.kube.paths import ROOT, Path, Step, parse_path

MOST_BYTES: Final = 46 * 1024
"""As JSON; the token is a third longer, and stays below 64 kB with all else that is in it. All
annotations of an object together may have 256 kB."""


@dataclass(slots=True)
class _Node:
    """Where paths lead, or go on from."""

    steps: "dict[Step | None, _Node]" = field(default_factory=dict)
    is_end: bool = False


def merged(ref: Ref, held: Iterable[str], changes: Iterable[Change]) -> tuple[str, ...] | None:
    """Return *held* and the fields that *changes* to *ref* are about, none inside another.

    None where a stamp has no room for them.
    """
    root = _Node()
    nodes = Fold(root, _node_after)
    for path in (*map(parse_path, held), *changed_fields(ref, changes)):
        nodes.at(path).is_end = True
    found = _outermost(root)
    return tuple(sorted(found)) if len(msgspec.json.encode(found)) <= MOST_BYTES else None


def _node_after(node: _Node, path: Path) -> _Node:
    return node.steps.setdefault(path.step, _Node())


def _outermost(root: _Node) -> list[str]:
    """Return the paths that end below *root* inside no other, until they are surely too many."""
    found, room = [], MOST_BYTES
    pending: list[tuple[str, Step | None, _Node]] = [("", None, root)]
    while pending and room >= 0:
        parent, step, node = pending.pop()
        text = f"{parent}{step}" if step else parent
        if node.is_end:
            found.append(text or str(ROOT))
            room -= len(text)
        else:
            pending += ((text, *below) for below in node.steps.items())
    return found
