"""What a report is about, beside the records that were asked for: which objects, which time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from correlator.audit.observed_write import Sighting, Sort
from correlator.finding import Finding
from correlator.report.model import Scope
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Attempt

MARGIN: Final = timedelta(hours=1)
"""What happened so shortly before or after the writes of an incident belongs to it."""


class Place(NamedTuple):
    """An object by its name: one that was made anew is in the same place."""

    group: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Circle:
    """What belongs to a report.

    A ticket's time, objects and applications are those of its writes; else the scope says it all.
    """

    scope: Scope
    begin: datetime | None
    end: datetime | None
    objects: frozenset[Place]
    owners: frozenset[Owner]

    @property
    def home(self) -> str:
        """The one namespace that its writes are in, nothing where there are several."""
        namespaces = {each.namespace for each in self.objects} - {""}
        return namespaces.pop() if len(namespaces) == 1 else ""

    def saw(self, sighting: Sighting) -> bool:
        """Return whether *sighting* belongs to it; a blow to the guard concerns everybody."""
        if not self._spans(sighting.time):
            return False
        if sighting.sort is Sort.GUARD:
            return True
        owner, scope = sighting.owner, self.scope
        return (
            scope.namespace in ("", sighting.ref.namespace)
            and scope.app in ("", owner.app if owner else "")
            and scope.actor in ("", sighting.actor, sighting.user)
            and self._concerns(sighting.ref, owner)
        )

    def drifted(self, finding: Finding) -> bool:
        """Return whether *finding* belongs to it; one of unknown time may be of any."""
        link, scope = finding.link, self.scope
        time = (link.time if link else None) or finding.since
        names = {link.actor, link.impersonator} if link else set()
        return (
            (time is None or self._spans(time))
            and scope.namespace in ("", finding.ref.namespace)
            and scope.app in ("", finding.owner.app if finding.owner else "")
            and (not scope.actor or scope.actor in names)
            and self._concerns(finding.ref, finding.owner)
        )

    def _spans(self, time: datetime) -> bool:
        return not ((self.begin and time < self.begin) or (self.end and time > self.end))

    def _concerns(self, ref: Ref, owner: Owner | None) -> bool:
        if not self.scope.ticket:
            return True
        return place_of(ref) in self.objects or (owner is not None and self._owns(owner))

    def _owns(self, owner: Owner) -> bool:
        return any(
            (each.engine, each.app) == (owner.engine, owner.app)
            and (None in (each.namespace, owner.namespace) or each.namespace == owner.namespace)
            for each in self.owners
        )


def circle_of(scope: Scope, attempts: Sequence[Attempt]) -> Circle:
    """Return what *scope* asks about; *attempts*, oldest first, are its own."""
    objects = frozenset(
        Place(each.group, each.kind, each.namespace, each.name) for each in attempts
    )
    owners = frozenset(
        Owner(each.engine, each.app, each.app_namespace or None, each.app_kind)
        for each in attempts
        if each.app
    )
    return Circle(scope, *_span(scope, attempts), objects, owners)


def place_of(ref: Ref) -> Place:
    """Return where the object is."""
    return Place(ref.group, ref.kind, ref.namespace, ref.name)


def _span(scope: Scope, attempts: Sequence[Attempt]) -> tuple[datetime | None, datetime | None]:
    if not scope.ticket or scope.since or scope.until or not attempts:
        return scope.since, scope.until
    return attempts[0].time - MARGIN, max(_ends(attempts)) + MARGIN


def _ends(attempts: Iterable[Attempt]) -> Iterable[datetime]:
    for each in attempts:
        yield each.time
        if each.grant_expires is not None:
            yield each.grant_expires
