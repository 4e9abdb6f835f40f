"""The fields that a change is about, each by itself where several came or went together.

The first label of an object comes with the whole map of labels. Whoever made that change did so to
one label, though, not to those that somebody else may add to the map later. The item at a position,
on the other hand, is no field of its own: in the next version another one stands there.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change
from glasswarden.kube.identity import Keys, identified, step_to
from glasswarden.kube.objects import Ref
from glasswarden.kube.path_folds import Fold
from glasswarden.kube.paths import Index, Key, Path
from glasswarden.kube.schema import Keyed, Shape, shape_of

FREE_MAPS: Final = frozenset(
    {
        "annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector",
        "requests", "stringData",
    }
)  # fmt: skip
"""Fields that are maps in which each entry stands for itself."""


def is_free_map(path: Path) -> bool:
    """Tell whether a map at *path* has keys of anybody's choice."""
    return isinstance(path.step, Key) and path.step.name in FREE_MAPS


def unit_at(path: Path) -> Path:
    """Return *path*, or the path of the list where it leads through a position of one."""
    return Fold(None, _list_after).at(path) or path


def changed_fields(ref: Ref, changes: Iterable[Change]) -> Iterator[Path]:
    """Yield the paths of the fields that *changes* to *ref* are about."""
    lists, shapes = Fold(None, _list_after), Fold(shape_of(ref), _shape_after)
    for change in changes:
        around = lists.at(change.path)
        path, old, new = around or change.path, change.old, change.new
        value = old if new is ABSENT else new
        if around is not None or (old is not ABSENT and new is not ABSENT):
            yield path
        elif isinstance(value, dict) and value and is_free_map(path):
            yield from (path / Key(name) for name in value)
        elif isinstance(value, list) and value:
            yield from _items(path, value, shapes.at(path))
        else:
            yield path


def _list_after(around: Path | None, path: Path) -> Path | None:
    """Return the outermost list that *path* leads through a position of, if it does."""
    return path.parent if around is None and isinstance(path.step, Index) else around


def _shape_after(shape: Shape, path: Path) -> Shape:
    return shape if path.step is None else shape.below(path.step)


def _items(path: Path, items: list[Any], shape: Shape) -> Iterator[Path]:
    keys = _keys(shape)
    found = None if keys is None else identified(items, keys)
    if keys is None or found is None:
        yield path
    else:
        yield from (path / step_to(item, keys) for item in items)


def _keys(shape: Shape) -> Keys | None:
    match shape.items:
        case Keyed(keys=keys):
            return keys
        case "set":
            return ()
        case _:
            return None
