"""Which labels and annotations a change touches, also where a whole map of them came or went."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from glasswarden.kube.diff import Change
from glasswarden.kube.paths import Key

Kind: TypeAlias = Literal["annotation", "label"]

_METADATA: Final = Key("metadata")
_FIELDS: Final[dict[str, Kind]] = {"annotations": "annotation", "labels": "label"}


def touched_metadata(change: Change) -> Iterator[tuple[Kind, str]]:
    """Yield each label and annotation that is not the same after *change*."""
    if change.path.head != _METADATA:
        return
    match change.path.steps:
        case (Key("metadata"), Key(field), Key(name), *_) if field in _FIELDS:
            yield _FIELDS[field], name
        case (Key("metadata"), Key(field)) if field in _FIELDS:
            yield from ((_FIELDS[field], name) for name in _differing(change.old, change.new))
        case (Key("metadata"),):
            for field, kind in _FIELDS.items():
                old, new = _below(change.old, field), _below(change.new, field)
                yield from ((kind, name) for name in _differing(old, new))


def _below(value: object, field: str) -> object:
    return value.get(field) if isinstance(value, dict) else None


def _differing(old: object, new: object) -> list[str]:
    before = old if isinstance(old, dict) else {}
    after = new if isinstance(new, dict) else {}
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
