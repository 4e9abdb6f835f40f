"""An incident to report about: a hotfix under a ticket, and what happened around it."""

from typing import Any

from correlator.report.compose import ReportContext, compose_report
from correlator.report.model import Integrity, Report, Scope, Subject, Unexplained
from correlator.still_live import Answer, FieldState
from glasswarden.ledger.record import Attempt, ChangedField
from tests.correlator.attribution.builders import at, wrote

IMAGE = "/spec/template/spec/containers[name=app]/image"
HOSTILE = (
    "=cmd|'/c calc'!A1 <script>alert(1)</script> `x` | \x1b[31m"
    f" <img src=x> \N{RIGHT-TO-LEFT OVERRIDE}txt.exe {'w' * 200}"
)


def granted(minute: float, path: str, **differing: Any) -> Attempt:  # noqa: ANN401 - any field
    """Return a write of the responder under the incident's grant."""
    fields: dict[str, Any] = {
        "ticket": "INC-42",
        "reason": "checkout is down",
        "grant": "g1",
        "grant_act": "used",
    }
    fields |= {"grant_expires": at(4.5)}
    return wrote(minute, path, **fields | {"inferred_verb": "edit"} | differing)


def history() -> list[Attempt]:
    """Return what happened, oldest first."""
    fingerprint = "ab12"
    return [
        wrote(0, "/spec/replicas", old=5, new=9, verdict="deny", actor="developer", clause="guard"),
        granted(0.9, "/", changes=(), grant_act="issued", inferred_verb="annotate"),
        granted(1, "/spec/replicas", old=5, new=8, inferred_verb="scale"),
        granted(2, IMAGE, old="web:1", new="web:2", fingerprint=fingerprint),
        granted(2.01, IMAGE, old="web:1", new="web:2", fingerprint=fingerprint),
        granted(3, "/data/token", old_masked="k:00", new_masked="k:01", kind="Secret", name="db"),
        granted(4, "/spec/replicas", old=8, new=12, inferred_verb="scale"),
        granted(5, "/", operation="DELETE", changes=(), inferred_verb="delete", name="job"),
    ]


def check_field(_attempt: Attempt, change: ChangedField) -> FieldState:
    live = {IMAGE: Answer.YES, "/": Answer.YES, "/spec/replicas": Answer.NO}.get(
        change.path, Answer.UNKNOWN
    )
    return FieldState(live, Answer.NO if live is Answer.YES else Answer.UNKNOWN)


def around(**differing: Any) -> ReportContext:  # noqa: ANN401 - any field
    subject = Subject(
        cluster="test",
        group="",
        version="v1",
        kind="ConfigMap",
        namespace="shop",
        name="settings",
        uid="u9",
    )
    why = "no record changes this field since recording began"
    fields: dict[str, Any] = {
        "check_field": check_field,
        "unexplained": (
            Unexplained(
                subject=subject,
                path="/data/mode",
                declared="primary",
                live="standby",
                why=why,
                origin="settings.yaml:1",
                command="kubectl get configmap/settings -n shop -o yaml --show-managed-fields",
            ),
        ),
        "integrity": Integrity(verdict=Answer.YES, statement="3 chains verified, nothing missing."),
        "incomplete": ("the audit log was not given",),
    }
    return ReportContext(**fields | differing)


def the_report(**differing: Any) -> Report:  # noqa: ANN401 - any field of what is around
    return compose_report(Scope(ticket="INC-42"), history(), around(**differing), at(60))


def a_hostile_report() -> Report:
    """Return a report in which every text that people choose tries to be something else."""
    write = granted(
        1,
        f"/metadata/annotations/{HOSTILE.replace('/', '~1')}",
        new=HOSTILE,
        actor=HOSTILE,
        reason=HOSTILE,
        manager=HOSTILE,
        name=HOSTILE,
        app=HOSTILE,
        ticket=HOSTILE,
    )
    return compose_report(Scope(ticket=HOSTILE), [write], around(), at(60))


def a_large_report() -> Report:
    """Return a report about a busy week: many people, many writes, long names."""
    attempts = [
        wrote(
            number * 7,
            f"/metadata/annotations/example.com~1{'very-' * 12}long-{number}",
            new="x" * 150,
            actor=f"system:serviceaccount:{'team-' * 8}{number % 20}:deployer",
            name=f"{'web-' * 40}{number}",
            verdict="deny" if number % 5 == 0 else "allow",
        )
        for number in range(300)
    ]
    return compose_report(Scope(namespace="shop"), attempts, around(), at(9999))
