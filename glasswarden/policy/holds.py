"""The hold: what becomes of a reconciler's own write while a grant is in force.

The fields that were changed under the grant keep their live values and everything else comes
through, so the reconciler neither reverts a fix nor fails because of it. Which fields these are is
in the signed stamp on the object; when the grant is over there is nothing left to do.
"""

from dataclasses import dataclass

import msgspec

from glasswarden.kube.hold import find_orphaned_paths, find_released_paths, hold_fields
from glasswarden.kube.managed_fields import paths_scaled_since
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import Path, parse_path
from glasswarden.policy.breakglass.tokens import Stamp
from glasswarden.policy.case import Case, once_per_case
from glasswarden.policy.requests import ended_grant, live_grant, namespace_grant
from glasswarden.policy.types import GrantOperation
from glasswarden.policy.write import Write


@dataclass(frozen=True, slots=True)
class Holding:
    """What a reconciler's write becomes."""

    object: Object
    """As proposed, but for the held fields."""
    paths: tuple[Path, ...]
    """The held fields."""
    stamp: Stamp | None
    """What the object is to be stamped with, where the stamp that it has is not right any more."""


def holding_grant(case: Case) -> Stamp | None:
    """Return the grant that keeps the object's reconciler from undoing its changes, if one does."""
    stamp = live_grant(case)
    return stamp if stamp is not None and stamp.hold else None


@once_per_case
def deletion_hold(case: Case) -> Stamp | None:
    """Return the grant for which the object's reconciler must not delete it now, if there is one.

    On the object itself, or on its Namespace where the object was only scaled.
    """
    stamp = holding_grant(case)
    if stamp is not None or not case.write.glass.scaled:
        return stamp
    first = _first_stamp(case)
    return first if first is not None and GrantOperation.SCALE in first.operations else None


def apply_hold(case: Case, live: Object, proposed: Object) -> Holding | None:
    """Return what becomes of a reconciler's write, or nothing where it is right as it is."""
    begun = holding_grant(case)
    stamp = begun or _first_stamp(case)
    if stamp is None:
        return _release_hold(case, live, proposed)
    manager = case.write.manager
    wanted = _fields_changed_under(stamp, live, manager)
    over = find_released_paths(live, proposed, wanted, manager)
    paths = tuple(path for path in wanted if path not in over)
    if begun is None and not paths:
        return None
    return Holding(
        hold_fields(live, proposed, paths), paths, _renewed_stamp(stamp, paths, case.write)
    )


def _release_hold(case: Case, live: Object, proposed: Object) -> Holding | None:
    """Return *proposed* without what a hold that is over has kept, and that nobody owns now."""
    ended = ended_grant(case) if live_grant(case) is None else None
    if ended is None:
        return None
    paths = find_orphaned_paths(live, proposed, map(parse_path, ended.held), case.write.manager)
    return Holding(hold_fields({}, proposed, paths), (), None) if paths else None


def _first_stamp(case: Case) -> Stamp | None:
    """Return the first stamp of an object for which only its Namespace has a grant."""
    around = namespace_grant(case)
    if around is None or not around.hold or live_grant(case) is not None:
        return None
    return msgspec.structs.replace(around, held=(), namespace=case.write.glass.namespace_uid)


def _fields_changed_under(stamp: Stamp, live: Object, manager: str) -> tuple[Path, ...]:
    """Return the fields that were changed under the grant.

    A scale can leave no stamp; that it happened is learned from the object now. Its trace outlives
    the hold, so one that the owner has agreed to since is none that counts.
    """
    remembered = tuple(map(parse_path, stamp.held))
    if GrantOperation.SCALE not in stamp.operations:
        return remembered
    scaled = paths_scaled_since(live, stamp.start)
    known = {*remembered, *find_released_paths(live, live, scaled, manager)}
    return (*remembered, *(path for path in scaled if path not in known))


def _renewed_stamp(stamp: Stamp, paths: tuple[Path, ...], write: Write) -> Stamp | None:
    """Return *stamp* for *paths*, or nothing where the object has it already."""
    texts = tuple(sorted(map(str, paths)))
    known = write.glass.before.grant
    if isinstance(known, Stamp) and (known.held, known.expires) == (texts, stamp.expires):
        return None
    return msgspec.structs.replace(
        stamp,
        uid=write.target.uid,
        version=write.glass.version,
        held=texts,
        trial=write.dry_run,
    )
