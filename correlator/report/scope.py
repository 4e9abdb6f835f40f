"""The scope of a report beside its own records: which objects, and which time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from correlator.audit.observed_write import ObservationKind, ObservedWrite
from correlator.finding import Finding
from correlator.report.model import Scope
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import ObjectKey, Ref, object_key_of
from glasswarden.ledger.record import Attempt

MARGIN: Final = timedelta(hours=1)
"""What happened so shortly before or after the writes of an incident belongs to it."""


@dataclass(frozen=True, slots=True)
class ReportScope:
    """What belongs to a report.

    A ticket's time, objects and applications are those of its writes; else the scope says it all.
    """

    scope: Scope
    begin: datetime | None
    end: datetime | None
    objects: frozenset[ObjectKey]
    owners: frozenset[Owner]

    @property
    def namespace(self) -> str:
        """The one namespace that its writes are in, nothing where there are several."""
        namespaces = {each.namespace for each in self.objects} - {""}
        return namespaces.pop() if len(namespaces) == 1 else ""

    def includes_write(self, observed: ObservedWrite) -> bool:
        """Return whether *sighting* belongs to it; a blow to the guard concerns everybody."""
        if not self._covers_time(observed.time):
            return False
        if observed.sort is ObservationKind.GUARD:
            return True
        owner, scope = observed.owner, self.scope
        return (
            scope.namespace in ("", observed.ref.namespace)
            and scope.app in ("", owner.app if owner else "")
            and scope.actor in ("", observed.actor, observed.user)
            and self._is_about(observed.ref, owner)
        )

    def includes_finding(self, finding: Finding) -> bool:
        """Return whether *finding* belongs to it; one of unknown time may be of any."""
        link, scope = finding.link, self.scope
        time = (link.time if link else None) or finding.since
        names = {link.actor, link.impersonator} if link else set()
        return (
            (time is None or self._covers_time(time))
            and scope.namespace in ("", finding.ref.namespace)
            and scope.app in ("", finding.owner.app if finding.owner else "")
            and (not scope.actor or scope.actor in names)
            and self._is_about(finding.ref, finding.owner)
        )

    def _covers_time(self, time: datetime) -> bool:
        return not ((self.begin and time < self.begin) or (self.end and time > self.end))

    def _is_about(self, ref: Ref, owner: Owner | None) -> bool:
        if not self.scope.ticket:
            return True
        return object_key_of(ref) in self.objects or (owner is not None and self._has_owner(owner))

    def _has_owner(self, owner: Owner) -> bool:
        return any(
            (each.engine, each.app) == (owner.engine, owner.app)
            and (None in (each.namespace, owner.namespace) or each.namespace == owner.namespace)
            for each in self.owners
        )


def report_scope_of(scope: Scope, attempts: Sequence[Attempt]) -> ReportScope:
    """Return what *scope* asks about; *attempts*, oldest first, are its own."""
    objects = frozenset(
        ObjectKey(each.group, each.kind, each.namespace, each.name) for each in attempts
    )
    owners = frozenset(
        Owner(each.engine, each.app, each.app_namespace or None, each.app_kind)
        for each in attempts
        if each.app
    )
    return ReportScope(scope, *_span_of(scope, attempts), objects, owners)


def _span_of(scope: Scope, attempts: Sequence[Attempt]) -> tuple[datetime | None, datetime | None]:
    if not scope.ticket or scope.since or scope.until or not attempts:
        return scope.since, scope.until
    return attempts[0].time - MARGIN, max(_end_times_of(attempts)) + MARGIN


def _end_times_of(attempts: Iterable[Attempt]) -> Iterable[datetime]:
    for each in attempts:
        yield each.time
        if each.grant_expires is not None:
            yield each.grant_expires
