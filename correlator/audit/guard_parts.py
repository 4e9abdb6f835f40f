"""What makes the guard: its registrations, its floor, its programs.

No webhook is ever asked about its own registration: whoever takes it away blinds the guard, and
only the audit log shows it.
"""

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from correlator.audit.subject import Subject, write_of
from correlator.audit.writes import act_of, reference_of, scaled_to
from correlator.link.audited import SCALE, Act
from glasswarden.audit.event import Event, Reference
from glasswarden.kube.compare import Value
from glasswarden.kube.diff import Change, changes
from glasswarden.kube.lookup import value_at
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import REPLICAS, ROOT, Path
from glasswarden.policy.exempt import OUR_NAMESPACE
from glasswarden.policy.policy import Policy

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


class Blow(NamedTuple):
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
class Parts:
    """The parts of the guard as the log has shown them so far."""

    policy: Policy
    _known: dict[Ref, Object] = field(default_factory=dict)

    def take(self, event: Event, kind: str) -> tuple[Ref, Blow] | None:
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
        after = event.answered()
        if act_of(event) is Act.DELETE:
            self._known.pop(ref, None)
        elif after is not None and not reference_of(event).subresource:
            self._known[ref] = after

    def _may(self, event: Event, ref: Ref, blow: Blow) -> bool:
        """Tell whether the guard mends itself, or those do who were given just that to do."""
        name = event.actor.username
        if name.startswith(_ACCOUNTS):
            return True
        if act_of(event) is Act.DELETE:
            return False
        if any(name in controllers for controllers in self.policy.controllers.values()):
            return True
        write = replace(write_of(event, Subject(ref)), changes=blow.changed)
        return bool(blow.changed) and self.policy.delegate_of(write) is not None


def blow_of(event: Event, kind: str, before: Object | None) -> Blow | None:
    """Return how *event* changes a part of *kind*, which was *before*; nothing if it does not.

    To make a part is none; of a program only that it is gone, or scaled to nothing, is one.
    """
    act = act_of(event)
    if act is Act.DELETE:
        return Blow("deleted it", ROOT)
    if act is Act.CREATE or kind == "Namespace":
        return None
    if kind in _PROGRAMS.values():
        return _scaled(event, before)
    return _changed(before, event.answered())


def _scaled(event: Event, before: Object | None) -> Blow | None:
    was = value_at(before, REPLICAS) if before is not None else None
    return Blow("scaled it to 0", REPLICAS) if _replicas(event) == 0 and was != 0 else None


def _replicas(event: Event) -> Value:
    if reference_of(event).subresource == SCALE:
        return scaled_to(event)
    return value_at(event.answered() or event.sent(), REPLICAS)


def _changed(before: Object | None, after: Object | None) -> Blow | None:
    if before is None or after is None:
        return Blow("changed it", ROOT)
    changed = tuple(changes(before, after))
    if not changed:
        return None
    fields = [str(change.path) for change in changed[:_MOST_FIELDS]]
    more = len(changed) - len(fields)
    told = ", ".join(fields) + (f" and {more} more" if more else "")
    return Blow(f"changed {told} of it", changed[0].path if len(changed) == 1 else ROOT, changed)
