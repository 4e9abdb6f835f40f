"""What differs from Git and no record explains, as a report tells it."""

from collections.abc import Iterable, Iterator

from msgspec import UNSET

from correlator.classify.revert import revert_command
from correlator.finding import Finding, Response
from correlator.link.link import State
from correlator.report.circle import Circle
from correlator.report.model import Unexplained
from correlator.report.unrecorded import subject_in
from glasswarden.kube.compare import ABSENT, Value


def unexplained_in(
    findings: Iterable[Finding], circle: Circle, cluster: str
) -> tuple[Unexplained, ...]:
    """Return those of *findings*, all from *cluster*, that belong to a report and lack a record."""
    return tuple(_unexplained(findings, circle, cluster))


def _unexplained(
    findings: Iterable[Finding], circle: Circle, cluster: str
) -> Iterator[Unexplained]:
    for each in findings:
        link, verdict = each.link, each.verdict
        if link is None or link.state is not State.UNEXPLAINED or not circle.drifted(each):
            continue
        if verdict is not None and verdict.response is Response.IGNORE:
            continue
        yield Unexplained(
            subject=subject_in(cluster, each.ref),
            path=str(each.field),
            declared=_value(each.declared),
            live=_value(each.live),
            why=link.why,
            actor=link.actor,
            time=link.time or each.since,
            origin=each.origin,
            command=revert_command(each) or (verdict.verify if verdict else ""),
        )


def _value(value: Value) -> object:
    return UNSET if value is ABSENT else value
