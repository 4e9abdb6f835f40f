"""Which held fields need no hold any more: those where the owner now wants what is live.

That a write leaves a field at its live value does not say so; most writes are about other fields.
What the owner itself declares tells: for server-side apply the fields of its managedFields entry,
for client-side apply the annotation that holds what was applied. Where neither speaks, as with a
plain update, the hold simply goes on.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.diff import changes
from glasswarden.kube.equality import identical, same_scalar
from glasswarden.kube.lookup import value_at
from glasswarden.kube.managed import Entry, entries_of, owners_at
from glasswarden.kube.objects import Object, annotations_of
from glasswarden.kube.paths import Order, Path
from glasswarden.kube.scaled import scaled_since

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def released(
    live: Object, proposed: Object, paths: Iterable[Path], manager: str
) -> tuple[Path, ...]:
    """Return those of *paths* at which the owner, writing as *manager*, declares the live value.

    *proposed* is what it writes, before anything is held.
    """
    alike = [path for path in paths if _is_alike(live, proposed, path)]
    if not alike:
        return ()
    entry = _applied_by(manager, proposed)
    if entry is None:
        declared = _last_applied(proposed)
        return tuple(path for path in alike if _declares(declared, live, path))
    if _is_bookkeeping(live, proposed, entry):
        return ()
    entries = entries_of(proposed)
    return tuple(
        path for path in alike if (entry in owners_at(entries, path)) == _is_there(live, path)
    )


def orphaned(
    live: Object, proposed: Object, paths: Iterable[Path], manager: str
) -> tuple[Path, ...]:
    """Return those of *paths* that nobody owns, in a server-side apply of the owner as *manager*.

    What was added by hand and taken away by an apply, only to be put back by a hold, belongs to no
    field manager any more: no later apply would take it away.
    """
    if _applied_by(manager, proposed) is None:
        return ()
    entries = entries_of(proposed)
    return tuple(
        path
        for path in paths
        if _is_there(live, path) and _is_alike(live, proposed, path)
        if not owners_at(entries, path)
    )


def scaled_against_owner(live: Object, start: datetime) -> tuple[Path, ...]:
    """Return the fields of *live* that were scaled since *start* and that no applier agrees to.

    The trace of a scale outlives the agreement, and who deletes an object names no field manager.
    """
    scaled = scaled_since(live, start)
    appliers = [each.manager for each in entries_of(live) if each.operation == "Apply"] or [""]
    agreed = {path for each in appliers for path in released(live, live, scaled, each)}
    return tuple(path for path in scaled if path not in agreed)


def _is_alike(live: Object, proposed: Object, path: Path) -> bool:
    if isinstance(path.step, Order):
        return False  # nobody declares the order of a list
    was, now = value_at(live, path), value_at(proposed, path)
    if was is ABSENT or now is ABSENT:
        return was is now
    return identical(was, now)


def _applied_by(manager: str, proposed: Object) -> Entry | None:
    """Return the entry of *manager* in *proposed*, if it applies on the server's side."""
    return next(
        (
            entry
            for entry in entries_of(proposed)
            if (entry.manager, entry.operation, entry.subresource) == (manager, "Apply", "")
        ),
        None,
    )


def _is_bookkeeping(live: Object, proposed: Object, entry: Entry) -> bool:
    """Tell whether nothing but other managers' entries is rewritten.

    Reconcilers take over the fields of kubectl's managers before they apply. That write declares
    nothing, though their own entry then has the fields; an apply leaves others what did not change.
    """
    return _others(live, entry) != _others(proposed, entry) and not changes(live, proposed)


def _others(obj: Object, entry: Entry) -> list[Entry]:
    return [each for each in entries_of(obj) if each.identity != entry.identity]


def _is_there(obj: Object, path: Path) -> bool:
    return value_at(obj, path) is not ABSENT


def _last_applied(obj: Object) -> Value:
    try:
        return json.loads(annotations_of(obj)[LAST_APPLIED])
    except (KeyError, TypeError, ValueError, RecursionError):
        return ABSENT


def _declares(declared: Value, live: Object, path: Path) -> bool:
    """Tell whether what was applied says of *path* what is live there, defaults aside."""
    if declared is ABSENT:
        return False
    wanted, found = value_at(declared, path), value_at(live, path)
    if wanted is ABSENT or found is ABSENT:
        return wanted is found
    return _is_within(wanted, found)


def _is_within(wanted: Any, found: Any) -> bool:  # noqa: ANN401 - any JSON values
    """Tell whether *found* is *wanted*, perhaps with more fields in its maps."""
    pending = [(wanted, found)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if not one.keys() <= other.keys():
                return False
            pending += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pending += zip(one, other, strict=True)
        elif isinstance(one, dict | list) or not same_scalar(one, other):
            return False
    return True
