"""Which values must never be shown or stored: a record outlives the Secret that it tells about."""

from typing import Final

from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Key, Path

_SECRET_FIELDS: Final = frozenset({"data", "stringData"})


def is_sensitive(ref: Ref, path: Path) -> bool:
    """Tell whether the value at *path* of *ref*'s object is a secret.

    A path that is shorter than a field (the whole object, on create) is: it contains them all.
    """
    if (ref.group, ref.kind) != ("", "Secret"):
        return False
    first = next(iter(path.steps), None)
    return first is None or (isinstance(first, Key) and first.name in _SECRET_FIELDS)
