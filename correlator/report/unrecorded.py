"""What the audit log shows around the writes of a report, and no record speaks of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from correlator.audit.sighting import Sighting, Sort, verdict_of
from correlator.report.model import Scope, Seen, Subject
from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Attempt

MARGIN: Final = timedelta(hours=1)
"""What happened so shortly before or after the writes of an incident belongs to it."""


def unrecorded_in(
    sightings: Iterable[Sighting], scope: Scope, attempts: Sequence[Attempt], cluster: str
) -> tuple[Seen, ...]:
    """Return those of *sightings* that *scope* asks about; *attempts* are the report's own."""
    circle = _Circle(scope, *_span(scope, attempts), frozenset(map(_place, attempts)))
    return tuple(_seen(each, cluster) for each in sightings if circle.holds(each))


@dataclass(frozen=True, slots=True)
class _Circle:
    """What a report is about."""

    scope: Scope
    begin: datetime | None
    end: datetime | None
    objects: frozenset[tuple[str, ...]]

    def holds(self, sighting: Sighting) -> bool:
        """Tell whether *sighting* is inside; a blow to the guard concerns everybody."""
        time, scope, owner = sighting.time, self.scope, sighting.owner
        if (self.begin and time < self.begin) or (self.end and time > self.end):
            return False
        if sighting.sort is Sort.GUARD:
            return True
        return (
            scope.namespace in ("", sighting.ref.namespace)
            and scope.app in ("", owner.app if owner else "")
            and scope.actor in ("", sighting.actor, sighting.user)
            and (not scope.ticket or _place_of(sighting.ref) in self.objects)
        )


def _span(scope: Scope, attempts: Sequence[Attempt]) -> tuple[datetime | None, datetime | None]:
    if scope.since or scope.until or not attempts:
        return scope.since, scope.until
    return attempts[0].time - MARGIN, attempts[-1].time + MARGIN


def _place(attempt: Attempt) -> tuple[str, ...]:
    return attempt.group, attempt.kind, attempt.namespace, attempt.name


def _place_of(ref: Ref) -> tuple[str, ...]:
    return ref.group, ref.kind, ref.namespace, ref.name


def _seen(sighting: Sighting, cluster: str) -> Seen:
    ref, verdict = sighting.ref, verdict_of(sighting)
    return Seen(
        time=sighting.time,
        sort=sighting.sort,
        subject=Subject(
            cluster=cluster,
            group=ref.group,
            version=ref.version,
            kind=ref.kind,
            namespace=ref.namespace,
            name=ref.name,
            uid=ref.uid,
        ),
        actor=sighting.actor,
        impersonator=sighting.user if sighting.user != sighting.actor else "",
        address=sighting.source,
        user_agent=sighting.user_agent,
        what=verdict.reason,
        response=verdict.response,
        command=verdict.verify,
        audit_id=sighting.audit_id,
    )
