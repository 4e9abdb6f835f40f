"""What a write was done to, as far as the rules ask."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from correlator.audit.writes import act_of, reference_of
from correlator.link.audited import SCALE, Act
from glasswarden.audit.event import Event
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change
from glasswarden.kube.managed import entries_of, owned_paths
from glasswarden.kube.noise import without_noise
from glasswarden.kube.objects import (
    Object,
    Ref,
    has_controller,
    labels_of,
    metadata_of,
    ref_of,
)
from glasswarden.kube.owners import Owner, owner_of
from glasswarden.kube.paths import REPLICAS, Key, Path
from glasswarden.policy.operation import Operation
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Actor, Write

_OPERATIONS: Final = {
    Act.CREATE: Operation.CREATE,
    Act.REPLACE: Operation.UPDATE,
    Act.PATCH: Operation.UPDATE,
    Act.DELETE: Operation.DELETE,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """An object, without its content."""

    ref: Ref
    owner: Owner | None = None
    steers: bool = False
    labels: Object = field(default_factory=dict)
    terminating: bool = False
    controlled: bool = False


def subject_of(obj: Object, policy: Policy) -> Subject:
    """Return *obj* as *policy* sees it."""
    ref = ref_of(obj)
    reconciler = policy.reconciler_of(ref)
    return Subject(
        ref,
        owner_of(obj, policy.engines) or reconciler,
        reconciler is not None,
        labels_of(obj),
        "deletionTimestamp" in metadata_of(obj),
        has_controller(obj),
    )


def write_of(event: Event, subject: Subject) -> Write:
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
        changes=tuple(_changes(event)),
    )


def _changes(event: Event) -> Iterator[Change]:
    """Yield a change at every field that managedFields put down to the writer in that second.

    What stands there does not matter, that something does: a change of nothing covers anything.
    """
    if reference_of(event).subresource == SCALE:
        yield Change(REPLICAS, ABSENT, None, event.manager)
        return
    begin = event.request_received_timestamp.replace(microsecond=0)
    for entry in entries_of(event.answered()):
        if entry.manager == event.manager and _is_within(entry.time, begin, event.stage_timestamp):
            for path in owned_paths(entry.fields):
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
            return not without_noise({"metadata": {"annotations": {name: ""}}})
        case (Key("metadata"), Key(name)):
            return name in {"annotations", "labels"}  # the map itself, beside what is in it
        case (Key("status"), *_):
            return True
    return False


def objects_of(event: Event) -> list[Object]:
    """Return the objects that *event* shows as answered: one, or those of a collection."""
    answered = event.answered()
    if answered is None or reference_of(event).subresource == SCALE:
        return []
    items = answered.get("items")
    if event.verb != "deletecollection" or not isinstance(items, list):
        return [answered]
    # The items of a list leave their type to it.
    kind = str(answered.get("kind", "")).removesuffix("List")
    head = {"apiVersion": answered.get("apiVersion", ""), "kind": kind}
    return [head | item for item in items if isinstance(item, dict)]
