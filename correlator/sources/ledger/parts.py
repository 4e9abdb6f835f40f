"""What a recorded value is made of: a map or a list that was added whole, part by part.

Where nothing was before, a write is recorded as one change. Others may have added to it since; what
of it still stands is then told by its parts.
"""

from collections.abc import Iterator

import msgspec

from glasswarden.kube.compare import Value
from glasswarden.kube.identity import identified, step_to
from glasswarden.kube.managed import Entry, hints_below, items_by
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Key, Path, parse_path
from glasswarden.kube.schema import Items, Keyed, shape_of
from glasswarden.ledger.record import ChangedField


def parts_of(change: ChangedField, ref: Ref, entries: tuple[Entry, ...]) -> list[ChangedField]:
    """Return *change* as changes to its parts; none where it cannot be divided."""
    if change.old is not msgspec.UNSET or change.old_masked or change.old_cut is not None:
        return []
    path = parse_path(change.path)
    return [
        ChangedField(path=str(part), manager=change.manager, new=value)
        for part, value in _parts(path, change.new, ref, entries)
    ]


def _parts(
    path: Path, value: Value, ref: Ref, entries: tuple[Entry, ...]
) -> Iterator[tuple[Path, Value]]:
    if isinstance(value, dict):
        yield from ((path / Key(name), each) for name, each in value.items())
    elif isinstance(value, list):
        match _items_at(path, ref, entries):
            case Keyed(keys=keys):
                yield from _items(path, value, keys)
            case "set":
                yield from _items(path, value, ())


def _items(path: Path, value: list[Value], keys: tuple[str, ...]) -> Iterator[tuple[Path, Value]]:
    if identified(value, keys) is not None:
        yield from ((path / step_to(item, keys), item) for item in value)


def _items_at(path: Path, ref: Ref, entries: tuple[Entry, ...]) -> Items | None:
    """Return how the items at *path* are told apart, by the kind's schema or by managedFields."""
    shape, hints = shape_of(ref), tuple(entry.fields for entry in entries)
    for step in path.steps:
        shape, hints = shape.below(step), hints_below(hints, step)
    return shape.items or items_by(hints)
