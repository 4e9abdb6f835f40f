"""Fields by the numbers of items, as JSON pointers name them."""

from typing import Any

from glasswarden.kube.compare import ABSENT
from glasswarden.kube.identity import identity_of, wanted_by
from glasswarden.kube.lookup import value_after
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import ROOT, Index, Member, Path, Select


def numbered(path: Path, live: Object) -> Path | None:
    """Return *path* with the number of each item that it selects in *live*.

    Nothing where it selects none, or one that is not there.
    """
    if not any(isinstance(step, Select | Member) for step in path.steps):
        return None
    found, value = ROOT, live
    for step in path.steps:
        if isinstance(step, Select | Member):
            number = _number(value, step)
            if number is None:
                return None
            step = Index(number)  # noqa: PLW2901 - the same step, by another name
        found, value = found / step, value_after(value, (step,))
        if value is ABSENT:
            value = {}  # what is gone has a place all the same
    return found


def _number(items: Any, step: Select | Member) -> int | None:  # noqa: ANN401 - any JSON value
    keys, identity = wanted_by(step)
    listed = enumerate(items if isinstance(items, list) else ())
    return next((index for index, item in listed if identity_of(item, keys) == identity), None)
