"""Something that the audit log alone shows, and what it means.

Which sightings still matter beside what was found: drift is about now, a bypass about then.

A write that got past the webhook is told where comparing with Git cannot tell what is left of it.
Where it can, what is left is told as a difference, with the writer's name, and only once; and where
every field is back as declared, nothing is left of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from correlator.attribution.link import Link, State
from correlator.classify.advice import kubectl
from correlator.finding import Cause, Class, Finding, Response, Verdict, time_as_text
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import ROOT, Path, are_nested

SOURCE: Final = "audit"


class Sort(StrEnum):
    """What kind of thing was seen."""

    EMERGENCY = "emergency"
    """A write to a guarded object by the group that is never asked."""

    FAILED_OPEN = "failed-open"
    """A write to a guarded object that the webhook should have been asked about."""

    UNRECORDED = "unrecorded"
    """A write to a guarded object about which nobody was asked."""

    GUARD = "guard"
    """A change of what makes the guard: its registration, its deployment."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One request that the audit log shows, and that no record speaks of."""

    sort: Sort
    time: datetime
    ref: Ref
    did: str
    """What was done, as in "lead *patched it*"."""
    actor: str
    user: str
    """Who authenticated; under impersonation not the actor."""
    source: str
    user_agent: str
    audit_id: str
    owner: Owner | None = None
    field: Path = ROOT
    """The one field that it was about, where that is known."""
    because: str = ""
    """Why nobody was asked, where the log tells."""
    by_controller: bool = False

    @property
    def who(self) -> str:
        """Who did it, from where."""
        posed = f" (posed as by {self.user})" if self.user != self.actor else ""
        return f"{self.actor}{posed}" + (f" from {self.source}" if self.source else "")


def finding_of(sighting: Sighting) -> Finding:
    """Return *sighting* as a finding; what stands there now is told by others."""
    return Finding(
        sighting.ref,
        sighting.field,
        ABSENT,
        ABSENT,
        sighting.time,
        SOURCE,
        owner=sighting.owner,
        verdict=verdict_of(sighting),
        link=_link_of(sighting),
    )


def _link_of(sighting: Sighting) -> Link:
    return Link(
        State.UNEXPLAINED,
        sighting.because or _BECAUSE[sighting.sort],
        actor=sighting.actor,
        impersonator=sighting.user if sighting.user != sighting.actor else "",
        source=sighting.source,
        time=sighting.time,
        evidence=(shown_by(sighting.audit_id),),
    )


def shown_by(audit_id: str) -> str:
    """Return the evidence that an event of the log is, in the words in which a link tells it."""
    return f"audit event {audit_id} shows the write"


def verdict_of(sighting: Sighting) -> Verdict:
    """Return what *sighting* means, and what to do about it first."""
    when = time_as_text(sighting.time)
    told = f"{sighting.who} {sighting.did} at {when}"
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.CONTROLLER if sighting.by_controller else Cause.PERSON,
        _RESPONSES[sighting.sort],
        f"{told}; {sighting.because or _BECAUSE[sighting.sort]}",
        _verify(sighting),
    )


_RESPONSES: Final = {
    Sort.EMERGENCY: Response.ALERT,
    Sort.FAILED_OPEN: Response.ALERT,
    Sort.UNRECORDED: Response.ESCALATE,
    Sort.GUARD: Response.ESCALATE,
}

_BECAUSE: Final = {
    Sort.EMERGENCY: "the emergency group is never asked, so there is no record",
    Sort.FAILED_OPEN: "the webhook did not answer and was passed by, so there is no record",
    Sort.UNRECORDED: "nobody was asked: the webhook was not registered for it",
    Sort.GUARD: "this is part of the guard itself",
}


def _verify(sighting: Sighting) -> str:
    if sighting.sort is Sort.GUARD:
        return "glasswarden doctor"
    return kubectl("get", sighting.ref, "-o", "yaml", "--show-managed-fields")


def lasting(
    sightings: Iterable[Sighting], found: Sequence[Finding], is_compared: Callable[[Ref], bool]
) -> list[Finding]:
    """Return *sightings* as findings, but for those that *found* tells better.

    *is_compared* tells whether an object was held against Git as a whole.
    """
    by_object: dict[tuple[str, ...], list[Finding]] = {}
    for each in found:
        by_object.setdefault(_place(each.ref), []).append(each)
    return [
        finding_of(each)
        for each in sightings
        if _lasts(each, by_object.get(_place(each.ref), []), is_compared)
    ]


def _lasts(
    sighting: Sighting, found: Sequence[Finding], is_compared: Callable[[Ref], bool]
) -> bool:
    if sighting.sort is Sort.GUARD:
        return True  # that somebody touched the guard is worth a look, whatever it looks like now
    if any(shown_by(sighting.audit_id) in each.link.evidence for each in found if each.link):
        return False
    return not is_compared(sighting.ref) or any(_may_be_of(sighting, each) for each in found)


def _may_be_of(sighting: Sighting, finding: Finding) -> bool:
    """Return whether nobody is known for *finding*, so that it may be what *sighting* left."""
    link = finding.link
    is_open = link is None or (link.state is State.UNEXPLAINED and not link.actor)
    return is_open and are_nested(finding.field, sighting.field)


def _place(ref: Ref) -> tuple[str, ...]:
    return ref.group, ref.kind, ref.namespace, ref.name
