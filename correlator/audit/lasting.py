"""Which sightings still matter beside what was found: drift is about now, a bypass about then.

A write that got past the webhook is told where comparing with Git cannot tell what is left of it.
Where it can, what is left is told as a difference, with the writer's name, and only once; and where
every field is back as declared, nothing is left of it.
"""

from collections.abc import Callable, Iterable, Sequence

from correlator.audit.sighting import Sighting, Sort, finding_of, shown_by
from correlator.finding import Finding
from correlator.link.link import State
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import are_nested


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
    """Tell whether nobody is known for *finding*, so that it may be what *sighting* left."""
    link = finding.link
    is_open = link is None or (link.state is State.UNEXPLAINED and not link.actor)
    return is_open and are_nested(finding.field, sighting.field)


def _place(ref: Ref) -> tuple[str, ...]:
    return ref.group, ref.kind, ref.namespace, ref.name
