"""What a policy would have decided about writes of the past, from the API server's audit log.

An audit event holds the object after the write, never before it. What the object was is known where
an earlier event shows it; otherwise the changed fields are those that managedFields attribute to
the writer, which may be more than this one write changed. What cannot be judged is counted with the
reason, and is never taken for "allowed".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from glasswarden.audit.event import COMPLETE, Event, Reference
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change
from glasswarden.kube.managed_fields import entries_of, owned_paths_of
from glasswarden.kube.objects import Object
from glasswarden.policy.case import Case, is_by_reconciler, is_guarded
from glasswarden.policy.decide import decide
from glasswarden.policy.decision import Decision
from glasswarden.policy.policy import Policy
from glasswarden.policy.types import Operation
from webhook.review import Options, Request, Resource, ReviewMalformed, UserInfo
from webhook.write_builder import write_of

_OPERATIONS: Final = {
    "create": Operation.CREATE,
    "update": Operation.UPDATE,
    "patch": Operation.UPDATE,
    "delete": Operation.DELETE,
}
COLLECTION: Final = "deletecollection"

_ResourceKey: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """A write of the past with the verdict that it would have met."""

    event: Event
    case: Case
    decision: Decision


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A write of the past about which the log has too little."""

    event: Event
    reason: str


def simulate(events: Iterable[Event], policy: Policy) -> Iterator[Judged | Unjudged]:
    """Yield what *policy* would have decided about each write among *events*, in their order."""
    known: dict[_ResourceKey, Object] = {}
    for event in events:
        if not _is_write(event):
            continue
        if event.stored is None or event.verb == COLLECTION:
            yield Unjudged(event, _unjudged_reason(event))
            continue
        outcome = _judge(event, policy, known)
        _remember(event, known)
        if outcome is not None:
            yield outcome


def _is_write(event: Event) -> bool:
    """Return whether *event* is a write that may have been stored; a dry run was not."""
    return (
        event.stage == COMPLETE
        and (event.verb in _OPERATIONS or event.verb == COLLECTION)
        and event.stored is not False
        and not event.is_dry_run
        and event.object_ref is not None
    )


def _unjudged_reason(event: Event) -> str:
    if event.verb == COLLECTION:
        return "a collection was deleted, and the log does not show what was in it"
    return "the API server's answer does not show whether it was stored"


def _judge(
    event: Event, policy: Policy, known: dict[_ResourceKey, Object]
) -> Judged | Unjudged | None:
    subresource = _reference(event).subresource
    if subresource not in {"", "scale", "ephemeralcontainers", "resize"}:
        return None
    old, new = known.get(_key(event)), event.response_body()
    if subresource == "scale":
        if old is None:
            return Unjudged(event, "the log does not show what was scaled")
        request = _request(event, *_scale_before_and_after(new, old))
        return _decide(event, policy, request, parent=old)
    if old is None and new is None:
        return Unjudged(event, "the audit policy records no objects here")
    return _decide(event, policy, _request(event, old, new))


def _decide(
    event: Event, policy: Policy, request: Request, parent: Object | None = None
) -> Judged | Unjudged:
    try:
        write = write_of(request, policy, parent)
    except ReviewMalformed as error:
        return Unjudged(event, str(error))
    is_inferred = write.operation is Operation.UPDATE and request.old_object is None
    if is_inferred:
        write = replace(write, changes=_infer_changes(event, request.object or {}))
    # Rules that depend on the time use the time of the write.
    case = Case(write, policy, event.request_received_timestamp)
    # To its own reconciler it does not matter what changed.
    if is_inferred and not write.changes and is_guarded(case) and not is_by_reconciler(case):
        return Unjudged(event, "managedFields do not show what the writer changed")
    return Judged(event, case, decide(case))


def _request(event: Event, old: Object | None, new: Object | None) -> Request:
    reference, user = _reference(event), event.actor
    operation = _OPERATIONS[event.verb]
    return Request(
        uid=event.audit_id,
        operation=operation,
        user_info=UserInfo(user.username, "", user.groups),
        resource=Resource(reference.api_group, reference.api_version, reference.resource),
        sub_resource=reference.subresource,
        object=None if operation is Operation.DELETE else new,
        old_object=_before(operation, old, new),
        options=Options(event.manager),
    )


def _before(operation: Operation, old: Object | None, new: Object | None) -> Object | None:
    if operation is Operation.CREATE:
        return None
    # A deletion is answered with the object as it was.
    return old or new if operation is Operation.DELETE else old


def _scale_before_and_after(scale: Object | None, parent: Object) -> tuple[Object, Object]:
    """Return the Scale before and after: what the parent had, and what the log shows."""
    replicas = (scale or {}).get("spec", {}).get("replicas")
    before = {"spec": {"replicas": parent.get("spec", {}).get("replicas")}}
    return before, {"spec": {"replicas": replicas}}


def _infer_changes(event: Event, new: Object) -> tuple[Change, ...]:
    """Return changes at every field that managedFields attribute to the writer of *event*."""
    entries = [entry for entry in entries_of(new) if entry.manager == event.manager]
    if not entries:
        return ()
    latest = max(entries, key=lambda entry: entry.time)
    # What stands there does not matter, that something does: a change of nothing covers anything.
    return tuple(
        Change(path, ABSENT, None, latest.manager, latest.operation)
        for path in owned_paths_of(latest.fields)
    )


def _remember(event: Event, known: dict[_ResourceKey, Object]) -> None:
    """Keep what the object is after *event*, for the events that follow."""
    key, new = _key(event), event.response_body()
    subresource = _reference(event).subresource
    if subresource == "scale" and key in known and new is not None:
        spec = known[key].get("spec", {}) | {"replicas": new.get("spec", {}).get("replicas")}
        known[key] = known[key] | {"spec": spec}
    elif event.verb == "delete" and not subresource:
        known.pop(key, None)
    elif new is not None and not subresource:
        known[key] = new


def _reference(event: Event) -> Reference:
    return event.object_ref or Reference()


def _key(event: Event) -> _ResourceKey:
    reference = _reference(event)
    name = reference.name or (event.response_body() or {}).get("metadata", {}).get("name", "")
    return reference.api_group, reference.resource, reference.namespace, name
