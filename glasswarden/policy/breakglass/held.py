"""The fields that were changed under a grant, as few paths as say it.

They stand in the stamp, which stands in an annotation: so many bytes, and no more.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from glasswarden.kube.diff import Change
from glasswarden.kube.fields import changed_fields
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Path, parse_path

MOST_BYTES: Final = 46 * 1024
"""As JSON; the token is a third longer, and stays below 64 kB with all else that is in it. All
annotations of an object together may have 256 kB."""


def merged(ref: Ref, held: Iterable[str], changes: Iterable[Change]) -> tuple[str, ...]:
    """Return *held* and the fields that *changes* to *ref* are about, none inside another."""
    paths = {parse_path(text) for text in held} | set(changed_fields(ref, changes))
    return tuple(sorted(map(str, _outermost(paths))))


def fits(held: tuple[str, ...]) -> bool:
    """Tell whether a stamp has room for *held*."""
    return len(msgspec.json.encode(held)) <= MOST_BYTES


def _outermost(paths: set[Path]) -> set[Path]:
    known = {path.steps for path in paths}
    return {
        path
        for path in paths
        if not any(path.steps[:length] in known for length in range(len(path.steps)))
    }
