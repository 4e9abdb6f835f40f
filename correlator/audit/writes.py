"""From an event to the write that the API server stored."""

from typing import Final

from correlator.link.audited import SCALE, Act, AuditedWrite, Way
from glasswarden.audit.event import COMPLETE, Event, Reference
from glasswarden.audit.testimony import records_in
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object

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
    """Tell whether *event* is of a write that was stored: complete, granted, and no dry run."""
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


def scaled_to(event: Event) -> int | None:
    """Return the replicas that *event*, about a Scale, asked for; none where it is not shown."""
    after = event.answered()
    shown = event.sent() if after is None else after
    spec = shown.get("spec") if isinstance(shown, dict) else None
    # Zero is what a Scale says by saying nothing.
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else None
    return replicas if isinstance(replicas, int) else None


def audited(event: Event, way: Way) -> AuditedWrite:
    """Return the write of *event*, which took *way*."""
    sent = event.sent()
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
        after=_after(event),
        records=tuple(record for record, _ in records_in(event)),
    )


def _after(event: Event) -> Object | None:
    if reference_of(event).subresource != SCALE:
        return event.answered()
    # A Scale holds nothing else, so what was asked for is what was stored.
    replicas = scaled_to(event)
    return None if replicas is None else {"spec": {"replicas": replicas}}
