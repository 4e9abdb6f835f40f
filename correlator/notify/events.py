"""Events to notify about: from records, grants, findings and webhook configurations.

Level-triggered: each call works from the current state. A process starts with what happens after
its start; an event that was sent is not sent again, and what happened while no process ran is in
the ledger only.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from correlator.attribution.link import State
from correlator.finding import Finding
from correlator.grants import Grant, grants_of
from correlator.grants import State as GrantState
from correlator.still_live import FieldCheck
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.writes import attempts_in


class Kind(StrEnum):
    """What happened."""

    DENIED = "denied"
    """A direct write was denied."""
    GRANT_OPENED = "grant-opened"
    GRANT_USED = "grant-used"
    GRANT_EXPIRED = "grant-expired"
    GRANT_OVERDUE = "grant-overdue"
    """It has ended, and something changed under it is still live and not in Git."""
    UNEXPLAINED_DRIFT = "unexplained-drift"
    CONFIGURATION_CHANGED = "configuration-changed"
    """A webhook configuration of ours was changed or deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event. A field that is unknown is empty."""

    id: str
    """Equal for the same event, which is sent once."""
    kind: Kind
    time: datetime
    subject: str
    """The object, such as `Deployment shop/web`."""
    says: str
    """What happened, in a sentence without the subject."""
    cluster: str = ""
    namespace: str = ""
    engine: str = ""
    application: str = ""
    """`name`, or `namespace/name`."""
    team: str = ""
    ticket: str = ""
    actor: str = ""


_ACTS = {
    "issued": Kind.GRANT_OPENED,
    "approved": Kind.GRANT_OPENED,
    "used": Kind.GRANT_USED,
}


def event_of(attempt: Attempt) -> Event | None:
    """Return the event for *attempt*, none if it is not to be sent."""
    if attempt.verdict == "deny":
        # The API server may ask several times about one write: it is one event.
        event_id = f"denied:{attempt.fingerprint}:{attempt.object_uid}:{attempt.time:%Y%m%d%H%M}"
        return _new_event(attempt, Kind.DENIED, event_id, _describe_denial(attempt))
    kind = _ACTS.get(attempt.grant_act)
    if kind is None or attempt.verdict != "allow":
        return None
    if kind is Kind.GRANT_OPENED:
        until = f" until {attempt.grant_expires:%H:%M} UTC" if attempt.grant_expires else ""
        return _new_event(
            attempt, kind, f"opened:{attempt.grant}", f"granted{until}: {attempt.reason}"
        )
    event_id = f"used:{attempt.grant}:{attempt.fingerprint}"
    return _new_event(attempt, kind, event_id, f"changed under a grant: {_name_fields(attempt)}")


def events_of_grants(grants: Iterable[Grant], since: datetime, now: datetime) -> Iterator[Event]:
    """Yield the grants that expired after *since*, and those that are overdue."""
    for grant in grants:
        if grant.closed is None and grant.expires is not None and since < grant.expires <= now:
            says = f"the grant of {grant.grantee} expired"
            yield _new_grant_event(grant, Kind.GRANT_EXPIRED, grant.expires, says)
        if grant.state_at(now) is GrantState.OVERDUE:
            count = sum(field.needs_follow_up.value == "yes" for field in grant.fields)
            says = f"its grant has ended, and {count} fields still have the value set by hand"
            yield _new_grant_event(grant, Kind.GRANT_OVERDUE, grant.end or now, says)


def _new_event(attempt: Attempt, kind: Kind, event_id: str, says: str) -> Event:
    place = f"{attempt.namespace}/{attempt.name}" if attempt.namespace else attempt.name
    application = attempt.app
    if attempt.app_namespace:
        application = f"{attempt.app_namespace}/{attempt.app}"
    return Event(
        id=event_id,
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


def _describe_denial(attempt: Attempt) -> str:
    verb = attempt.inferred_verb or attempt.operation.lower()
    return f"{verb} denied: {_name_fields(attempt)}" if attempt.changes else f"{verb} denied"


def _name_fields(attempt: Attempt) -> str:
    """Return the names of the fields; their values stay in the ledger."""
    paths = [change.path for change in attempt.changes[:3]]
    more = len(attempt.changes) + attempt.unlisted - len(paths)
    return ", ".join(paths) + (f" and {more} more" if more else "")


def _new_grant_event(grant: Grant, kind: Kind, time: datetime, says: str) -> Event:
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
        namespace=attempt.namespace if attempt else _namespace_of(grant.subject),
        engine=attempt.engine if attempt else "",
        application=application,
        ticket=grant.ticket,
        actor=grant.grantee,
    )


def _namespace_of(subject: str) -> str:
    place = subject.partition(" ")[2]
    return place.partition("/")[0] if "/" in place else ""


OVERLAP: Final = timedelta(seconds=30)
"""A record may arrive late: from a spool, or from a writer whose clock is behind. An event that is
read twice is sent once (`Groups`)."""

GRANTS_WITHIN: Final = timedelta(days=7)
"""How far back grants are followed: longer than the lifetime of any grant."""

Configurations = Mapping[str, dict[str, Any] | None]
"""Our webhook configurations as they are, by their path; none where one is not there."""


class EventFeed:
    """Reads new events from the ledger and from the webhook configurations."""

    def __init__(self, began: datetime) -> None:
        self._began = began
        self._until = began
        self._granted: dict[str, Attempt] = {}
        """Recent records about grants, by their id."""
        self._configurations: dict[str, str] | None = None

    def read_ledger(
        self, ledger: Ledger, cluster: str, check_field: FieldCheck, now: datetime
    ) -> list[Event]:
        """Return the events of *cluster*'s records since the last call; raises `LedgerError`."""
        since = max(self._began, self._until - OVERLAP)
        first = self._began - GRANTS_WITHIN if self._until == self._began else since
        read = [each for each in attempts_in(ledger, first) if each.cluster == cluster]
        self._remember_grants(read, now)
        new = filter(None, (event_of(attempt) for attempt in read if attempt.time > since))
        grants = grants_of(sorted(self._granted.values(), key=lambda each: each.id), check_field)
        events = [*new, *events_of_grants(grants, since, now)]
        self._until = now
        return events

    def _remember_grants(self, read: Iterable[Attempt], now: datetime) -> None:
        """Keep the records of grants for as long as one may last: a week is read once."""
        self._granted |= {each.id: each for each in read if each.grant}
        oldest = now - GRANTS_WITHIN
        self._granted = {key: each for key, each in self._granted.items() if each.time > oldest}

    def compare_configurations(
        self, found: Configurations, cluster: str, now: datetime
    ) -> list[Event]:
        """Return events for those of our configurations that changed since the last call."""
        marks = {path: _fingerprint_of(each) for path, each in found.items()}
        before, self._configurations = self._configurations, marks
        if before is None:
            return []
        return [
            _new_configuration_event(path, found[path], cluster, now)
            for path, mark in marks.items()
            if before.get(path, mark) != mark
        ]


def events_of_findings(
    found: Iterable[tuple[Finding, str]], cluster: str, now: datetime
) -> Iterator[Event]:
    """Yield events for unexplained findings; each is given with the team that owns it."""
    for finding, team in found:
        link = finding.link
        if link is None or link.state is not State.UNEXPLAINED:
            continue
        ref = finding.ref
        place = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
        owner = finding.owner
        yield Event(
            id=f"{Kind.UNEXPLAINED_DRIFT}:{ref.uid or place}:{finding.field}:{finding.since or ''}",
            kind=Kind.UNEXPLAINED_DRIFT,
            time=finding.since or now,
            subject=f"{ref.kind} {place}",
            says=f"{finding.field} is not as Git says, and {link.why}",
            cluster=cluster,
            namespace=ref.namespace,
            engine=owner.engine if owner else "",
            application="/".join(filter(None, (owner.namespace, owner.app))) if owner else "",
            team=team,
        )


def _fingerprint_of(configuration: dict[str, Any] | None) -> str:
    """Return a hash of *configuration*, without its CA bundles, which rotate."""
    if configuration is None:
        return ""
    entries = [
        each | {"clientConfig": {**each.get("clientConfig", {}), "caBundle": ""}}
        for each in configuration.get("webhooks") or ()
    ]
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _new_configuration_event(
    path: str, configuration: dict[str, Any] | None, cluster: str, now: datetime
) -> Event:
    says = "was deleted: no object is guarded" if configuration is None else "was changed"
    return Event(
        id=f"{Kind.CONFIGURATION_CHANGED}:{path}:{now.isoformat()}",
        kind=Kind.CONFIGURATION_CHANGED,
        time=now,
        subject="/".join(path.split("/")[-2:]),
        says=says,
        cluster=cluster,
    )
