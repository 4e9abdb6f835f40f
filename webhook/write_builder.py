"""From a review to a `Write`: whose object, what changes, who writes. Pure; asks nobody."""

from typing import Final

from glasswarden.keys.ring import Ring
from glasswarden.kube.diff import Change, find_changes
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import BY_NAME, owner_of
from glasswarden.kube.hold import find_paths_scaled_against_owner
from glasswarden.kube.objects import (
    Object,
    annotations_of,
    generation_of,
    has_controller,
    is_nested_beyond,
    labels_of,
    metadata_of,
    ref_of,
)
from glasswarden.policy.breakglass.annotations import (
    EMPTY,
    Glass,
    Notes,
    has_notes,
    notes_of,
    without_notes,
)
from glasswarden.policy.policy import Policy
from glasswarden.policy.types import Actor, Operation
from glasswarden.policy.write import Write
from webhook.review import Request, ReviewMalformed, UserInfo

NO_KEYS: Final = Ring()

DEEPEST_VALUE: Final = 400
"""Levels; what shows, masks or stores a value has to reach its ground without an error."""


def write_of(
    request: Request,
    policy: Policy,
    parent: Object | None = None,
    *,
    ring: Ring = NO_KEYS,
    namespace: Object | None = None,
) -> Write:
    """Return the write that *request* asks about.

    *parent* is the object behind a subresource that carries no marks itself, such as a Scale;
    *namespace* the Namespace that the object is in, and *ring* what stamps are verified with.
    Raises `ReviewMalformed` where a value that changes is nested beyond reason.
    """
    subject = parent or request.old_object or request.object or {}
    ref = ref_of(subject)
    reconciler = policy.reconciler_of(ref)
    marked = _owner(subject, request, policy)
    owner = marked or reconciler
    manager = request.options.field_manager if request.options else ""
    # Nobody asks what changed in an object that nobody owns, unless its place is reserved.
    guarded = owner is not None or ref.namespace in policy.reserved
    changed = _changes(request, manager) if guarded else ()
    return Write(
        operation=request.operation,
        target=ref,
        subresource=request.sub_resource,
        actor=_actor(request.user_info),
        manager=manager or next((change.manager for change in changed), ""),
        owner=owner,
        steers=reconciler is not None,
        marked=marked is not None,
        diverts=reconciler is not None and _diverts(reconciler, subject, request),
        labels=labels_of(subject),
        terminating="deletionTimestamp" in metadata_of(subject),
        controlled=has_controller(subject),
        changes=changed,
        generation=_generation(request, parent, changed),
        dry_run=request.dry_run,
        glass=_glass(request, parent, ring, namespace),
    )


def _generation(request: Request, parent: Object | None, changed: tuple[Change, ...]) -> int:
    """Return how often the spec was written, with this write.

    The API server has counted already, except in what a subresource such as a Scale does not show.
    """
    if parent is None:
        return generation_of(request.object or request.old_object or {})
    before = generation_of(parent)
    return before + bool(changed) if before else 0


def _owner(subject: Object, request: Request, policy: Policy) -> Owner | None:
    """Return whose object it is by its marks.

    What it *was* comes first: taking the mark off does not set an object free. One that is only
    now given a mark is treated as what it claims to be.
    """
    owner = owner_of(subject, policy.engines)
    new = request.object
    if owner is not None or new is None or new is subject or _same_marks(subject, new):
        return owner
    return owner_of(new, policy.engines)


def _same_marks(old: Object, new: Object) -> bool:
    return labels_of(old) == labels_of(new) and annotations_of(old) == annotations_of(new)


def _diverts(reconciler: Owner, subject: Object, request: Request) -> bool:
    return BY_NAME[reconciler.engine].diverts(subject, request.object or {})


def _changes(request: Request, manager: str) -> tuple[Change, ...]:
    """Return what an update changes; what is created or deleted is so as a whole."""
    if request.old_object is None or request.object is None:
        return ()
    old, new = without_notes(request.old_object), without_notes(request.object)
    found = tuple(find_changes(old, new, subresource=request.sub_resource, manager=manager))
    for change in found:
        if any(is_nested_beyond(value, DEEPEST_VALUE) for value in (change.old, change.new)):
            raise ReviewMalformed(f"a changed value has more than {DEEPEST_VALUE} levels")
    return found


def _glass(request: Request, parent: Object | None, ring: Ring, namespace: Object | None) -> Glass:
    """Return what the write has to do with break-glass; most have nothing to do with it."""
    old, new = request.old_object, request.object
    if parent is not None:
        old = new = parent
    elif request.operation is Operation.DELETE:
        new = old
    elif request.operation is Operation.CREATE:
        old = new = None
    if not (has_notes(old) or has_notes(new) or has_notes(namespace)):
        return EMPTY
    before, around = notes_of(old, ring), notes_of(namespace, ring)
    return Glass(
        before,
        before if new is old else notes_of(new, ring),
        str(metadata_of(old or {}).get("resourceVersion", "")),
        around,
        str(metadata_of(namespace or {}).get("uid", "")),
        scaled=_is_scaled(request, around),
    )


def _is_scaled(request: Request, around: Notes) -> bool:
    """Return whether what is to be deleted was scaled under the grant on its Namespace."""
    stamp, old = around.valid_stamp(), request.old_object
    if request.operation is not Operation.DELETE or stamp is None or old is None:
        return False
    return bool(find_paths_scaled_against_owner(old, stamp.start))


def _actor(user: UserInfo) -> Actor:
    extra = frozenset(text for texts in user.extra.values() for text in texts)
    return Actor(user.username, user.uid, user.groups, extra)
