"""What the audit log shows around the writes of a report, and no record speaks of."""

import shlex
from collections.abc import Iterable

from correlator.audit.sighting import Sighting, Sort, verdict_of
from correlator.report.circle import Circle
from correlator.report.model import Seen, Subject
from glasswarden.kube.objects import Ref


def unrecorded_in(sightings: Iterable[Sighting], circle: Circle, cluster: str) -> tuple[Seen, ...]:
    """Return those of *sightings*, all from *cluster*, that belong to a report."""
    return tuple(_seen(each, cluster) for each in sightings if circle.saw(each))


def subject_in(cluster: str, ref: Ref) -> Subject:
    """Return the object *ref* as a report names it."""
    return Subject(
        cluster=cluster,
        group=ref.group,
        version=ref.version,
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        uid=ref.uid,
    )


def target(subject: Subject) -> list[str]:
    """Return how a command line names *subject*."""
    name = f"{subject.kind.lower()}/{subject.name}"
    return [name, "-n", subject.namespace] if subject.namespace else [name]


def _seen(sighting: Sighting, cluster: str) -> Seen:
    subject, verdict = subject_in(cluster, sighting.ref), verdict_of(sighting)
    return Seen(
        time=sighting.time,
        sort=sighting.sort,
        subject=subject,
        actor=sighting.actor,
        impersonator=sighting.user if sighting.user != sighting.actor else "",
        controller=sighting.by_controller,
        address=sighting.source,
        user_agent=sighting.user_agent,
        did=sighting.did,
        what=verdict.reason,
        response=verdict.response,
        command=verdict.verify if sighting.sort is Sort.GUARD else _who_set_what(sighting, subject),
        audit_id=sighting.audit_id,
    )


def _who_set_what(sighting: Sighting, subject: Subject) -> str:
    """Return the command that shows what of a write is left, by the same log."""
    if sighting.did == "deleted it":
        return shlex.join(["glasswarden", "history", *target(subject)])
    return shlex.join(["glasswarden", "blame", *target(subject), "--audit-log", "FILE"])
