"""A write that only the audit log shows: its meaning, and whether it still matters.

A write that bypassed the webhook is a finding of its own where comparing with Git cannot show what
is left of it. Where it can, what is left is a difference with the writer's name, reported once; and
where every field is as declared again, nothing is left of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from correlator.attribution.link import Link, State
from correlator.finding import Cause, Class, Finding, Response, Verdict, time_as_text
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.notation import kubectl
from glasswarden.kube.objects import Ref, object_key_of
from glasswarden.kube.paths import ROOT, Path, are_nested

SOURCE: Final = "audit"


class ObservationKind(StrEnum):
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
class ObservedWrite:
    """One request that the audit log shows, and that no record speaks of."""

    sort: ObservationKind
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
        impersonator = f" (impersonated by {self.user})" if self.user != self.actor else ""
        return f"{self.actor}{impersonator}" + (f" from {self.source}" if self.source else "")


def finding_of(observed: ObservedWrite) -> Finding:
    """Return *observed* as a finding; what stands there now is told by others."""
    return Finding(
        observed.ref,
        observed.field,
        ABSENT,
        ABSENT,
        observed.time,
        SOURCE,
        owner=observed.owner,
        verdict=verdict_of(observed),
        link=_link_of(observed),
    )


def _link_of(observed: ObservedWrite) -> Link:
    return Link(
        State.UNEXPLAINED,
        observed.because or _BECAUSE[observed.sort],
        actor=observed.actor,
        impersonator=observed.user if observed.user != observed.actor else "",
        source=observed.source,
        time=observed.time,
        evidence=(evidence_of(observed.audit_id),),
    )


def evidence_of(audit_id: str) -> str:
    """Return the evidence that an event of the log is, in the words in which a link tells it."""
    return f"audit event {audit_id} shows the write"


def verdict_of(observed: ObservedWrite) -> Verdict:
    """Return what *observed* means, and what to do about it first."""
    when = time_as_text(observed.time)
    what = f"{observed.who} {observed.did} at {when}"
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.CONTROLLER if observed.by_controller else Cause.PERSON,
        _RESPONSES[observed.sort],
        f"{what}; {observed.because or _BECAUSE[observed.sort]}",
        _verify(observed),
    )


_RESPONSES: Final = {
    ObservationKind.EMERGENCY: Response.ALERT,
    ObservationKind.FAILED_OPEN: Response.ALERT,
    ObservationKind.UNRECORDED: Response.ESCALATE,
    ObservationKind.GUARD: Response.ESCALATE,
}

_BECAUSE: Final = {
    ObservationKind.EMERGENCY: "the emergency group is never asked, so there is no record",
    ObservationKind.FAILED_OPEN: "the webhook did not answer (failed open), so there is no record",
    ObservationKind.UNRECORDED: "the webhook was not registered for it, so there is no record",
    ObservationKind.GUARD: "this is part of the guard itself",
}


def _verify(observed: ObservedWrite) -> str:
    if observed.sort is ObservationKind.GUARD:
        return "glasswarden doctor"
    return kubectl("get", observed.ref, "-o", "yaml", "--show-managed-fields")


def select_lasting(
    observed_writes: Iterable[ObservedWrite],
    found: Sequence[Finding],
    is_compared: Callable[[Ref], bool],
) -> list[Finding]:
    """Return *sightings* as findings, but for those that *found* tells better.

    *is_compared* tells whether an object was held against Git as a whole.
    """
    by_object: dict[tuple[str, ...], list[Finding]] = {}
    for each in found:
        by_object.setdefault(object_key_of(each.ref), []).append(each)
    return [
        finding_of(each)
        for each in observed_writes
        if _is_lasting(each, by_object.get(object_key_of(each.ref), []), is_compared)
    ]


def _is_lasting(
    observed: ObservedWrite, found: Sequence[Finding], is_compared: Callable[[Ref], bool]
) -> bool:
    if observed.sort is ObservationKind.GUARD:
        return True  # that somebody touched the guard is worth a look, whatever it looks like now
    if any(evidence_of(observed.audit_id) in each.link.evidence for each in found if each.link):
        return False
    return not is_compared(observed.ref) or any(_may_be_of(observed, each) for each in found)


def _may_be_of(observed: ObservedWrite, finding: Finding) -> bool:
    """Return whether nobody is known for *finding*, so that it may be what *observed* left."""
    link = finding.link
    is_open = link is None or (link.state is State.UNEXPLAINED and not link.actor)
    return is_open and are_nested(finding.field, observed.field)
