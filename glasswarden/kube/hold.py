"""A proposed object in which chosen fields stay as they are live, while all others come through.

What a field is held at is its live value, and nothing where it has none live: a field that was
removed stays removed. A list's item is found by its merge keys or its value; a list whose items
cannot be told apart is held as a whole, and so is one of which a path names a position.

Where the proposal has no room for a held field any more, because what contained it is gone, the
container comes back as it is live: half a probe or a container without an image would be refused.
Only of maps whose keys are anybody's choice does nothing but the held keys come back. A container
that would be left with nothing, and is not there live, goes with what was in it.

Which held fields need no hold any more: those where the owner now wants what is live.

That a write leaves a field at its live value does not say so; most writes are about other fields.
What the owner itself declares tells: for server-side apply the fields of its managedFields entry,
for client-side apply the annotation that holds what was applied. Where neither speaks, as with a
plain update, the hold simply goes on.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from glasswarden.kube.compare import ABSENT, Value, value_after, value_at
from glasswarden.kube.diff import Change, changes, is_free_map, unit_at
from glasswarden.kube.equality import identical, same_scalar
from glasswarden.kube.managed_fields import Entry, entries_of, owners_at, scaled_since
from glasswarden.kube.objects import Object, annotations_of
from glasswarden.kube.patch import apply_changes
from glasswarden.kube.paths import ROOT, Key, Member, Order, Path, Select, Step, parse_path
from glasswarden.kube.schema import Identified, Identity, Keys, identified, step_to, wanted_by


class _Place:
    """The held fields at one path and below it."""

    __slots__ = ("below", "held", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = False
        self.below: dict[Step, _Place] = {}


_Case: TypeAlias = tuple[_Place, Value, Value]
"""A place, with what is live there and what is proposed."""


def held(live: Object, proposed: Object, paths: Iterable[Path]) -> Object:
    """Return *proposed* with the fields at *paths* as they are in *live*."""
    listed = tuple(paths)
    result = apply_changes(proposed, _restorations(live, proposed, listed))
    orders = {path for path in listed if isinstance(path.step, Order)}
    if orders:
        result = apply_changes(result, _reorderings(live, result, orders))
    return cast("Object", result)


def _restorations(live: Object, proposed: Object, paths: Iterable[Path]) -> list[Change]:
    """Return the changes that bring the fields at *paths* from *proposed* back to *live*."""
    found: list[Change] = []
    pending: list[_Case] = [(_tree(paths), live, proposed)]
    while pending:
        place, was, now = pending.pop()
        if place.held or _is_gone(place, was, now) or _is_emptied(place, was, now):
            found += _restored(place, was, now)
        elif isinstance(now, list):
            _look_into_list(place, was, now, found, pending)
        elif isinstance(now, dict):
            before = was if isinstance(was, dict) else {}
            pending += (
                (child, before.get(step.name, ABSENT), now.get(step.name, ABSENT))
                for step, child in place.below.items()
                if isinstance(step, Key)
            )
    return found


def _tree(paths: Iterable[Path]) -> _Place:
    root = _Place(ROOT)
    for path in paths:
        if isinstance(path.step, Order):
            continue
        place = root
        for step in unit_at(path).steps:
            place = place.below.setdefault(step, _Place(place.path / step))
        place.held = True
    return root


def _is_gone(place: _Place, was: Value, now: Value) -> bool:
    """Tell whether something held is live in *was*, and *now* has no room for it."""
    if type(was) is type(now) or not isinstance(was, dict | list):
        return False
    return _has_held(place, was)


def _is_emptied(place: _Place, was: Value, now: Value) -> bool:
    """Tell whether *now* holds nothing but what stays away, and was not there to begin with."""
    if was is not ABSENT or not now:
        return False
    if isinstance(now, dict):
        return all(_is_held(place.below.get(Key(name))) for name in now)
    return isinstance(now, list) and any(
        _are_held(identified(now, keys), children) for keys, children in _by_keys(place).items()
    )


def _are_held(items: Identified | None, children: dict[Identity, _Place]) -> bool:
    return items is not None and all(_is_held(children.get(identity)) for identity in items)


def _has_held(place: _Place, was: Value) -> bool:
    return any(value_after(was, steps) is not ABSENT for steps in _held_below(place))


def _held_below(place: _Place) -> Iterator[tuple[Step, ...]]:
    pending: list[tuple[_Place, tuple[Step, ...]]] = [(place, ())]
    while pending:
        at, steps = pending.pop()
        if at.held:
            yield steps
        else:
            pending += ((child, (*steps, step)) for step, child in at.below.items())


def _restored(place: _Place, was: Value, now: Value) -> Iterator[Change]:
    if was is ABSENT and now is ABSENT:
        return
    if was is ABSENT or now is ABSENT or not identical(was, now):
        yield Change(place.path, now, _wanted(place, was))


def _wanted(place: _Place, was: Value) -> Value:
    """Return as much of *was* as the held fields need."""
    if place.held or not isinstance(was, dict) or not is_free_map(place.path):
        return was
    names = [step.name for step in place.below if isinstance(step, Key)]
    return {name: was[name] for name in names if name in was}


def _look_into_list(
    place: _Place, was: Value, now: list[Any], found: list[Change], pending: list[_Case]
) -> None:
    """Add what brings held items back or takes them out to *found*, those inside to *pending*."""
    before = was if isinstance(was, list) else []
    for keys, children in _by_keys(place).items():
        old, new = identified(before, keys), identified(now, keys)
        if old is None or new is None:
            found.extend(_restored(place, was, now))
            return
        back = {}
        for identity, child in children.items():
            item, other = _item(old, identity), _item(new, identity)
            if other is ABSENT and _has_held(child, item):
                back[identity] = child.path
            else:
                pending.append((child, item, other))
        stay = [each for each in new if each in old or not _is_held(children.get(each))]
        found += _brought_back(back, old, stay)


def _by_keys(place: _Place) -> dict[Keys, dict[Identity, _Place]]:
    """Return the items with something held by their identities, for each set of keys in use."""
    found: dict[Keys, dict[Identity, _Place]] = {}
    for step, child in place.below.items():
        if isinstance(step, Select | Member):
            keys, identity = wanted_by(step)
            found.setdefault(keys, {})[identity] = child
    return found


def _is_held(place: _Place | None) -> bool:
    return place is not None and place.held


def _item(items: Identified, identity: Identity) -> Value:
    return items[identity][1] if identity in items else ABSENT


def _brought_back(
    back: dict[Identity, Path], old: Identified, stay: list[Identity]
) -> Iterator[Change]:
    """Yield the items of *back* as additions, each behind the item that it follows in *old*."""
    remaining = set(stay)
    followers: dict[Identity, list[Identity]] = {}
    leader: Identity = None
    for identity in old:
        if identity in back:
            followers.setdefault(leader, []).append(identity)
        elif identity in remaining:
            leader = identity
    arranged = [*followers.get(None, [])]
    for identity in stay:
        arranged += (identity, *followers.get(identity, []))
    for position, identity in enumerate(arranged):
        if identity in back:
            yield Change(back[identity], ABSENT, old[identity][1], position=position)


def _reorderings(live: Object, result: Object, orders: set[Path]) -> Iterator[Change]:
    """Yield what brings the items that *result* shares with *live* into their live order."""
    for change in changes(live, result):
        if change.path not in orders or change.path.parent is None:
            continue
        shared = iter(change.old)
        among = set(change.old)
        items = value_at(result, change.path)
        keys, _ = wanted_by(cast("Select | Member", parse_path(change.old[0]).step))
        now = [str(step_to(item, keys)) for item in items]
        wanted = [next(shared) if selector in among else selector for selector in now]
        yield Change(change.path, now, wanted)


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
