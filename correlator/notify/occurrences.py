"""Events from what records and grants say. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from correlator.grants.grant import Grant, State
from correlator.notify.event import Event, Kind
from glasswarden.ledger.record import Attempt

_ACTS = {
    "issued": Kind.GRANT_OPENED,
    "approved": Kind.GRANT_OPENED,
    "used": Kind.GRANT_USED,
}


def event_of(attempt: Attempt) -> Event | None:
    """Return what *attempt* is to be told as, if it is."""
    if attempt.verdict == "deny":
        # The API server may ask several times about one write: it is one event.
        told = f"denied:{attempt.fingerprint}:{attempt.object_uid}:{attempt.time:%Y%m%d%H%M}"
        return _event(attempt, Kind.DENIED, told, _denial(attempt))
    kind = _ACTS.get(attempt.grant_act)
    if kind is None or attempt.verdict != "allow":
        return None
    if kind is Kind.GRANT_OPENED:
        until = f" until {attempt.grant_expires:%H:%M} UTC" if attempt.grant_expires else ""
        return _event(attempt, kind, f"opened:{attempt.grant}", f"granted{until}: {attempt.reason}")
    told = f"used:{attempt.grant}:{attempt.fingerprint}"
    return _event(attempt, kind, told, f"changed under a grant: {_fields(attempt)}")


def ended(grants: Iterable[Grant], since: datetime, now: datetime) -> Iterator[Event]:
    """Yield the grants that ran out after *since*, and those that are owed for."""
    for grant in grants:
        if grant.closed is None and grant.expires is not None and since < grant.expires <= now:
            says = f"the grant of {grant.grantee} ran out"
            yield _of_grant(grant, Kind.GRANT_EXPIRED, grant.expires, says)
        if grant.state(now) is State.OVERDUE:
            owed = sum(field.is_owed.value == "yes" for field in grant.fields)
            says = f"its grant has ended, and {owed} fields are still as changed by hand"
            yield _of_grant(grant, Kind.GRANT_OVERDUE, grant.end or now, says)


def _event(attempt: Attempt, kind: Kind, told: str, says: str) -> Event:
    place = f"{attempt.namespace}/{attempt.name}" if attempt.namespace else attempt.name
    application = attempt.app
    if attempt.app_namespace:
        application = f"{attempt.app_namespace}/{attempt.app}"
    return Event(
        id=told,
        kind=kind,
        time=attempt.time,
        subject=f"{attempt.kind} {place}",
        says=says,
        cluster=attempt.cluster,
        namespace=attempt.namespace,
        engine=attempt.engine,
        application=application,
        ticket=attempt.ticket,
        actor=attempt.actor,
    )


def _denial(attempt: Attempt) -> str:
    verb = attempt.inferred_verb or attempt.operation.lower()
    return f"{verb} refused: {_fields(attempt)}" if attempt.changes else f"{verb} refused"


def _fields(attempt: Attempt) -> str:
    """Name the fields; their values are for the ledger."""
    paths = [change.path for change in attempt.changes[:3]]
    more = len(attempt.changes) + attempt.unlisted - len(paths)
    return ", ".join(paths) + (f" and {more} more" if more else "")


def _of_grant(grant: Grant, kind: Kind, time: datetime, says: str) -> Event:
    attempt = grant.fields[0].attempt if grant.fields else None
    application = ""
    if attempt is not None and attempt.app:
        application = "/".join(filter(None, (attempt.app_namespace, attempt.app)))
    return Event(
        id=f"{kind}:{grant.id}",
        kind=kind,
        time=time,
        subject=grant.subject,
        says=says,
        cluster=grant.cluster,
        namespace=attempt.namespace if attempt else _namespace(grant.subject),
        engine=attempt.engine if attempt else "",
        application=application,
        ticket=grant.ticket,
        actor=grant.grantee,
    )


def _namespace(subject: str) -> str:
    place = subject.partition(" ")[2]
    return place.partition("/")[0] if "/" in place else ""
