"""From an audit event to the write that the API server stored, and the object that it was about."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from correlator.attribution.context import SCALE, Act, AuditedWrite, Way
from glasswarden.audit.event import COMPLETE, Event, Reference, records_in
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change, remove_noise
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import owner_of
from glasswarden.kube.managed_fields import entries_of, owned_paths_of
from glasswarden.kube.objects import Object, Ref, has_controller, labels_of, metadata_of, ref_of
from glasswarden.kube.paths import REPLICAS, Key, Path
from glasswarden.policy.policy import Policy
from glasswarden.policy.types import Actor, Operation
from glasswarden.policy.write import Write

WATCHED: Final = frozenset({"", SCALE, "ephemeralcontainers", "resize"})
"""The subresources that the webhook is asked about, and the objects themselves."""

_ACTS: Final = {
    "create": Act.CREATE,
    "update": Act.REPLACE,
    "patch": Act.PATCH,
    "delete": Act.DELETE,
    "deletecollection": Act.DELETE,
}
_IGNORED: Final = frozenset({"events", "leases"})
_CREATED: Final = 201


def is_stored_write(event: Event) -> bool:
    """Return whether *event* is of a write that was stored: complete, granted, and no dry run."""
    return (
        event.stage == COMPLETE
        and event.verb in _ACTS
        and event.stored is True
        and not event.is_dry_run
        and reference_of(event).resource not in _IGNORED
    )


def act_of(event: Event) -> Act:
    """Return what was done; to apply what is not there is to create it."""
    act = _ACTS[event.verb]
    code = event.response_status.code if event.response_status else 0
    return Act.CREATE if act is Act.PATCH and code == _CREATED else act


def reference_of(event: Event) -> Reference:
    """Return what *event* is about, empty where it is about no object."""
    return event.object_ref or Reference()


def scaled_replicas_of(event: Event) -> int | None:
    """Return the replicas that *event*, about a Scale, asked for; none where it is not shown."""
    after = event.response_body()
    shown = event.request_body() if after is None else after
    spec = shown.get("spec") if isinstance(shown, dict) else None
    # Zero is what a Scale says by saying nothing.
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else None
    return replicas if isinstance(replicas, int) else None


def audited_write_of(event: Event, way: Way) -> AuditedWrite:
    """Return the write of *event*, which took *way*."""
    sent = event.request_body()
    return AuditedWrite(
        audit_id=event.audit_id,
        received=event.request_received_timestamp,
        answered=event.stage_timestamp,
        way=way,
        act=act_of(event),
        actor=event.actor.username,
        user=event.user.username,
        source=event.source,
        user_agent=event.user_agent,
        manager=event.manager,
        subresource=reference_of(event).subresource,
        uid=event.uid,
        sent=ABSENT if sent is None else sent,
        after=_object_after(event),
        records=tuple(record for record, _ in records_in(event)),
    )


def _object_after(event: Event) -> Object | None:
    if reference_of(event).subresource != SCALE:
        return event.response_body()
    # A Scale holds nothing else, so what was asked for is what was stored.
    replicas = scaled_replicas_of(event)
    return None if replicas is None else {"spec": {"replicas": replicas}}


_OPERATIONS: Final = {
    Act.CREATE: Operation.CREATE,
    Act.REPLACE: Operation.UPDATE,
    Act.PATCH: Operation.UPDATE,
    Act.DELETE: Operation.DELETE,
}


@dataclass(frozen=True, slots=True)
class AuditedObject:
    """An object, without its content."""

    ref: Ref
    owner: Owner | None = None
    steers: bool = False
    labels: Object = field(default_factory=dict)
    terminating: bool = False
    controlled: bool = False


def subject_of(obj: Object, policy: Policy) -> AuditedObject:
    """Return *obj* as *policy* sees it."""
    ref = ref_of(obj)
    reconciler = policy.reconciler_of(ref)
    return AuditedObject(
        ref,
        owner_of(obj, policy.engines) or reconciler,
        reconciler is not None,
        labels_of(obj),
        "deletionTimestamp" in metadata_of(obj),
        has_controller(obj),
    )


def write_of(event: Event, subject: AuditedObject) -> Write:
    """Return the write of *event* to *subject*, as the webhook would have seen it."""
    actor = event.actor
    return Write(
        operation=_OPERATIONS[act_of(event)],
        target=subject.ref,
        subresource=reference_of(event).subresource,
        actor=Actor(actor.username, "", actor.groups),
        manager=event.manager,
        owner=subject.owner,
        steers=subject.steers,
        labels=subject.labels,
        terminating=subject.terminating,
        controlled=subject.controlled,
        changes=tuple(_changes_of(event)),
    )


def _changes_of(event: Event) -> Iterator[Change]:
    """Yield a change at every field that managedFields put down to the writer in that second.

    What stands there does not matter, that something does: a change of nothing covers anything.
    """
    if reference_of(event).subresource == SCALE:
        yield Change(REPLICAS, ABSENT, None, event.manager)
        return
    begin = event.request_received_timestamp.replace(microsecond=0)
    for entry in entries_of(event.response_body()):
        if entry.manager == event.manager and _is_within(entry.time, begin, event.stage_timestamp):
            for path in owned_paths_of(entry.fields):
                if not _is_noise(path):
                    yield Change(path, ABSENT, None, entry.manager, entry.operation)


def _is_within(time: str, begin: datetime, end: datetime) -> bool:
    try:
        return begin <= datetime.fromisoformat(time) <= end
    except ValueError:
        return False


def _is_noise(path: Path) -> bool:
    match path.steps:
        case (Key("metadata"), Key("annotations"), Key(name)):
            return not remove_noise({"metadata": {"annotations": {name: ""}}})
        case (Key("metadata"), Key(name)):
            return name in {"annotations", "labels"}  # the map itself, beside what is in it
        case (Key("status"), *_):
            return True
    return False


def objects_of(event: Event) -> list[Object]:
    """Return the objects that *event* shows as answered: one, or those of a collection."""
    answered = event.response_body()
    if answered is None or reference_of(event).subresource == SCALE:
        return []
    items = answered.get("items")
    if event.verb != "deletecollection" or not isinstance(items, list):
        return [answered]
    # The items of a list leave their type to it.
    kind = str(answered.get("kind", "")).removesuffix("List")
    head = {"apiVersion": answered.get("apiVersion", ""), "kind": kind}
    return [head | item for item in items if isinstance(item, dict)]
