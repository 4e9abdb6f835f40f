"""What the audit log shows about the guard itself, event by event, in order. Pure.

The guard consists of its registrations, its fallback policy and its programs. No webhook is called
for its own registration: a change that disables the guard is visible in the audit log only. The
module also collects the times in which the webhook failed open or was not registered. Memory grows
with the guarded objects that the log shows, not with its events.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from correlator.attribution.context import SCALE, Act, Unseen, Way
from correlator.audit.observed_write import ObservationKind, ObservedWrite
from correlator.audit.writes import (
    WATCHED,
    AuditedObject,
    act_of,
    is_stored_write,
    objects_of,
    reference_of,
    scaled_replicas_of,
    subject_of,
    write_of,
)
from glasswarden.audit.event import COMPLETE, Event, Reference, failed_open_webhooks_of, records_in
from glasswarden.kube.compare import Value, value_at
from glasswarden.kube.diff import Change, find_changes
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import REPLICAS, ROOT, Path
from glasswarden.policy.case import Case
from glasswarden.policy.decide import decide
from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.matching import names_of
from glasswarden.policy.policy import EXEMPT_NAMESPACES, KUBERNETES, OUR_NAMESPACE, Policy

FAILED_OPEN: Final = "the webhook failed open"


@dataclass(slots=True)
class Outages:
    """Collects such times from what happened, told in its order."""

    ended: list[Unseen] = field(default_factory=list)
    _away: Unseen | None = None
    _gone: Unseen | None = None

    def note_failure(self, since: datetime, until: datetime) -> None:
        """Note that the webhook did not answer; until it does, it is one outage."""
        begun = self._away.since if self._away else since.replace(microsecond=0)
        self._away = Unseen(begun, until, FAILED_OPEN)

    def note_answer(self) -> None:
        """Note that the webhook answered."""
        if self._away is not None:
            self.ended.append(self._away)
            self._away = None

    def note_deletion(self, time: datetime, by: str) -> None:
        """Note that the registration is gone."""
        begun = time.replace(microsecond=0)
        self._gone = Unseen(begun, time, f"the webhook's registration was gone, deleted by {by}")

    def note_registration(self, time: datetime) -> None:
        """Note that the registration is there again."""
        if self._gone is not None:
            self.ended.append(replace(self._gone, until=time))
            self._gone = None

    @property
    def reason_unavailable(self) -> str:
        """Why nobody is asked at present; empty where that is not so."""
        return self._gone.why if self._gone else ""

    def outages_until(self, end: datetime) -> tuple[Unseen, ...]:
        """Return all such times, of which the last may go on until *end*."""
        open_ones = [self._away, self._gone and replace(self._gone, until=end)]
        found = [*self.ended, *(each for each in open_ones if each is not None)]
        return tuple(sorted(found, key=lambda each: each.since))


VALIDATING: Final = "validatingwebhookconfigurations"

_ACCOUNTS: Final = f"system:serviceaccount:{OUR_NAMESPACE}:"
_REGISTRATIONS: Final = {
    VALIDATING: "ValidatingWebhookConfiguration",
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingadmissionpolicies": "ValidatingAdmissionPolicy",
    "validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
}
_PROGRAMS: Final = {"deployments": "Deployment", "statefulsets": "StatefulSet"}
_NAMES: Final = frozenset({"glasswarden", "glasswarden-floor"})
_MOST_FIELDS: Final = 3


class GuardChange(NamedTuple):
    """What a write did to a part of the guard."""

    did: str
    field: Path
    changed: tuple[Change, ...] = ()
    """As far as the log shows what stood there before."""


def kind_of_part(reference: Reference) -> str | None:
    """Return the kind of the part of the guard that *reference* is, or nothing."""
    if reference.api_group == "admissionregistration.k8s.io" and reference.name in _NAMES:
        return _REGISTRATIONS.get(reference.resource)
    if reference.resource == "namespaces" and reference.name == OUR_NAMESPACE:
        return "Namespace"
    if reference.namespace == OUR_NAMESPACE:
        return _PROGRAMS.get(reference.resource)
    return None


@dataclass(slots=True)
class GuardParts:
    """The parts of the guard as the log has shown them so far."""

    policy: Policy
    _known: dict[Ref, Object] = field(default_factory=dict)

    def take(self, event: Event, kind: str) -> tuple[Ref, GuardChange] | None:
        """Return how *event*, about a part of *kind*, weakens the guard; nothing if it does not."""
        reference = reference_of(event)
        if reference.subresource not in ("", SCALE):
            return None
        group, version = reference.api_group, reference.api_version
        ref = Ref(group, version, kind, reference.namespace, reference.name)
        blow = blow_of(event, kind, self._known.get(ref))
        self._remember(event, ref)
        return (ref, blow) if blow and not self._may(event, ref, blow) else None

    def _remember(self, event: Event, ref: Ref) -> None:
        after = event.response_body()
        if act_of(event) is Act.DELETE:
            self._known.pop(ref, None)
        elif after is not None and not reference_of(event).subresource:
            self._known[ref] = after

    def _may(self, event: Event, ref: Ref, blow: GuardChange) -> bool:
        """Return whether the guard mends itself, or those do who were given just that to do."""
        name = event.actor.username
        if name.startswith(_ACCOUNTS):
            return True
        if act_of(event) is Act.DELETE:
            return False
        if any(name in controllers for controllers in self.policy.controllers.values()):
            return True
        write = replace(write_of(event, AuditedObject(ref)), changes=blow.changed)
        return bool(blow.changed) and self.policy.delegate_of(write) is not None


def blow_of(event: Event, kind: str, before: Object | None) -> GuardChange | None:
    """Return how *event* changes a part of *kind*, which was *before*; nothing if it does not.

    To make a part is none; of a program only that it is gone, or scaled to nothing, is one.
    """
    act = act_of(event)
    if act is Act.DELETE:
        return GuardChange("deleted it", ROOT)
    if act is Act.CREATE or kind == "Namespace":
        return None
    if kind in _PROGRAMS.values():
        return _find_scaling(event, before)
    return _find_change(before, event.response_body())


def _find_scaling(event: Event, before: Object | None) -> GuardChange | None:
    was = value_at(before, REPLICAS) if before is not None else None
    return (
        GuardChange("scaled it to 0", REPLICAS) if _replicas_of(event) == 0 and was != 0 else None
    )


def _replicas_of(event: Event) -> Value:
    if reference_of(event).subresource == SCALE:
        return scaled_replicas_of(event)
    return value_at(event.response_body() or event.request_body(), REPLICAS)


def _find_change(before: Object | None, after: Object | None) -> GuardChange | None:
    if before is None or after is None:
        return GuardChange("changed it", ROOT)
    changed = tuple(find_changes(before, after))
    if not changed:
        return None
    fields = [str(change.path) for change in changed[:_MOST_FIELDS]]
    more = len(changed) - len(fields)
    told = ", ".join(fields) + (f" and {more} more" if more else "")
    return GuardChange(
        f"changed {told} of it", changed[0].path if len(changed) == 1 else ROOT, changed
    )


MOST_SUBJECTS: Final = 100_000
"""Guarded objects that are remembered; those written to least recently are forgotten first."""

_ResourceKey: TypeAlias = tuple[str, str, str, str]

_KUBERNETES: Final = names_of(KUBERNETES.actors)
_SORTS: Final = {
    Way.EMERGENCY: ObservationKind.EMERGENCY,
    Way.FAILED_OPEN: ObservationKind.FAILED_OPEN,
    Way.UNRECORDED: ObservationKind.UNRECORDED,
}
_UNSHOWN: Final = {
    Way.EMERGENCY: "writes of the emergency group",
    Way.FAILED_OPEN: "writes that the webhook was not there for",
    Way.UNRECORDED: "writes without a record",
}
_DONE: Final = {
    Act.CREATE: "created it",
    Act.REPLACE: "replaced it",
    Act.PATCH: "patched it",
    Act.DELETE: "deleted it",
}


@dataclass(slots=True)
class Watch:
    """What was seen so far."""

    policy: Policy
    observed_writes: list[ObservedWrite] = field(default_factory=list)
    untold: Counter[str] = field(default_factory=Counter)
    """Writes of which the log does not show whose objects they were to, by what they are."""
    since: datetime | None = None
    until: datetime | None = None
    """The time that the log covers."""

    _subjects: dict[_ResourceKey, AuditedObject] = field(default_factory=dict)
    _parts: GuardParts = field(init=False)
    _outages: Outages = field(default_factory=Outages)
    _seen: set[tuple[str, Ref]] = field(default_factory=set)
    _records: bool = False
    """Whether the webhook is known to have been registered by now."""

    def __post_init__(self) -> None:
        self._parts = GuardParts(self.policy)

    @property
    def unseen(self) -> tuple[Unseen, ...]:
        """The times in which writes may have passed without a record."""
        return self._outages.outages_until(self.until) if self.until else ()

    def forget(self, before: datetime) -> None:
        """Let go of what was seen before that time."""
        self.observed_writes = [each for each in self.observed_writes if each.time >= before]

    def take(self, event: Event) -> Way | None:
        """Look at *event*; return the way that its write took, none if nothing was stored."""
        if event.stage != COMPLETE:
            return None
        self._cover(event.request_received_timestamp, event.stage_timestamp)
        if any(records_in(event)):
            self._records = True
            self._outages.note_answer()
        if failed_open_webhooks_of(event):
            self._outages.note_failure(event.request_received_timestamp, event.stage_timestamp)
        if not is_stored_write(event):
            return None
        if kind := kind_of_part(reference_of(event)):
            return self._take_part(event, kind)
        return self._take_write(event)

    def _cover(self, received: datetime, answered: datetime) -> None:
        self.since = min(self.since or received, received)
        self.until = max(self.until or answered, answered)

    def _take_write(self, event: Event) -> Way:
        if reference_of(event).subresource not in WATCHED:
            return self._way_of(event, None)
        ways = [self._judge(event, subject) for subject in self._subjects_of(event)]
        self._remember_objects(event)
        return ways[0] if ways else self._judge(event, None)

    def _subjects_of(self, event: Event) -> list[AuditedObject]:
        """Return what was written to, by what it was before; nothing where the log has no idea."""
        if known := self._subjects.get(_key_of(event)):
            return [known]
        return [subject_of(each, self.policy) for each in objects_of(event)]

    def _way_of(self, event: Event, decision: Decision | None) -> Way:
        if any(records_in(event)):
            return Way.RECORDED
        if failed_open_webhooks_of(event):
            return Way.FAILED_OPEN
        if self.policy.document.emergency_group in event.actor.groups:
            return Way.EMERGENCY
        return Way.TRUSTED if self._is_trusted(event, decision) else Way.UNRECORDED

    def _is_trusted(self, event: Event, decision: Decision | None) -> bool:
        if decision is not None and decision.clause in (Clause.CONTROLLER, Clause.DELEGATED):
            return True
        name = event.actor.username
        if self.policy.document.default_delegations and name in _KUBERNETES:
            return True
        # The log does not show whose object it is, or nothing changed, as in a reconciler's write
        # to what a grant holds: anybody's controller may be the owner's.
        untold = decision is None or decision.clause is Clause.NOISE
        return untold and any(name in each for each in self.policy.controllers.values())

    def _judge(self, event: Event, subject: AuditedObject | None) -> Way:
        decision = self._decide(event, subject) if subject else None
        way = self._way_of(event, decision)
        if way in (Way.RECORDED, Way.TRUSTED) or not self._is_asked_about(event, way):
            return way
        if subject is None or decision is None:
            self.untold[_UNSHOWN[way]] += 1
        elif self._is_guarded(subject) and (decision.recorded or way is not Way.UNRECORDED):
            self._observe(_SORTS[way], event, subject)
        return way

    def _decide(self, event: Event, subject: AuditedObject) -> Decision:
        write = write_of(event, subject)
        return decide(Case(write, self.policy, event.request_received_timestamp))

    def _is_asked_about(self, event: Event, way: Way) -> bool:
        """Return whether the webhook should know of it: registered, and guarding that namespace."""
        if reference_of(event).namespace in EXEMPT_NAMESPACES:
            return False
        return way is not Way.UNRECORDED or self._records

    def _is_guarded(self, subject: AuditedObject) -> bool:
        reserved = subject.ref.namespace in self.policy.reserved and not subject.controlled
        return subject.owner is not None or reserved

    def _observe(
        self,
        sort: ObservationKind,
        event: Event,
        subject: AuditedObject,
        blow: GuardChange | None = None,
    ) -> None:
        """Keep what was seen, once: a copy of a log may be read beside it."""
        if (event.audit_id, subject.ref) in self._seen:
            return
        self._seen.add((event.audit_id, subject.ref))
        did, where = (blow.did, blow.field) if blow else _describe_write(event)
        actor = event.actor.username
        self.observed_writes.append(
            ObservedWrite(
                sort=sort,
                time=event.request_received_timestamp,
                ref=subject.ref,
                did=did,
                actor=actor,
                user=event.user.username,
                source=event.source,
                user_agent=event.user_agent,
                audit_id=event.audit_id,
                owner=subject.owner,
                field=where,
                because=self._outages.reason_unavailable
                if sort is ObservationKind.UNRECORDED
                else "",
                by_controller=any(actor in each for each in self.policy.controllers.values()),
            )
        )

    def _remember_objects(self, event: Event) -> None:
        """Keep what is guarded, for the events that do not show it."""
        place = _key_of(event)
        if reference_of(event).subresource:
            return
        if act_of(event) is Act.DELETE:
            self._subjects.pop(place, None)
            return
        for each in objects_of(event):
            subject = subject_of(each, self.policy)
            self._subjects.pop(place, None)
            if self._is_guarded(subject):
                self._subjects[place] = subject
        if len(self._subjects) > MOST_SUBJECTS:
            self._subjects.pop(next(iter(self._subjects)))

    def _take_part(self, event: Event, kind: str) -> Way:
        """Look at a write to a part of the guard."""
        if (struck := self._parts.take(event, kind)) is not None:
            ref, blow = struck
            self._observe(ObservationKind.GUARD, event, AuditedObject(ref), blow)
        if reference_of(event).resource == VALIDATING:
            self._note_registration(event)
        return self._way_of(event, None)

    def _note_registration(self, event: Event) -> None:
        if act_of(event) is Act.DELETE:
            self._outages.note_deletion(event.request_received_timestamp, event.actor.username)
        else:
            self._records = True
            self._outages.note_registration(event.stage_timestamp)


def _describe_write(event: Event) -> tuple[str, Path]:
    """Return what was done, and to which field where that is sure."""
    if reference_of(event).subresource != SCALE:
        return _DONE[act_of(event)], ROOT
    replicas = scaled_replicas_of(event)
    return ("scaled it" if replicas is None else f"scaled it to {replicas}"), REPLICAS


def _key_of(event: Event) -> _ResourceKey:
    reference = reference_of(event)
    name = reference.name or next((ref_of(each).name for each in objects_of(event)), "")
    return reference.api_group, reference.resource, reference.namespace, name
