"""What the audit log adds to a report: who posed, from where, stored or not, what has no record."""

import csv
import io
import re
from dataclasses import replace
from typing import Any

import pytest

from correlator.attribution.context import Witness
from correlator.audit.observed_write import ObservationKind, ObservedWrite
from correlator.report.compose import compose_report, unrecorded_in
from correlator.report.csv import render_csv
from correlator.report.html import render_page, timeline_of
from correlator.report.markdown import render_markdown
from correlator.report.model import Report, Scope, Unexplained
from correlator.report.scope import report_scope_of
from correlator.still_live import Answer
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from tests.correlator.attribution.builders import at
from tests.correlator.report.builders import HOSTILE, around, granted

WEB = Ref("apps", "v1", "Deployment", "shop", "web")
REGISTRATION = Ref("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "", "g")
SEEN = ObservedWrite(
    sort=ObservationKind.EMERGENCY,
    time=at(2),
    ref=WEB,
    did="patched it",
    actor="lead",
    user="outsider",
    source="10.0.0.7",
    user_agent="kubectl",
    audit_id="a1",
    owner=Owner("flux", "shop", "flux-system"),
)
OTHERS = Owner("flux", "other", "flux-system")
INCIDENT = Scope(ticket="INC-42")
WRITE = granted(1, "/spec/replicas", old=5, new=8)


def reported(witness: Witness | None = None, *observed_writes: ObservedWrite) -> Report:
    known: dict[str, Any] = {"witnesses": {WRITE.id: witness}} if witness else {}
    seen = unrecorded_in(observed_writes, report_scope_of(INCIDENT, [WRITE]), "test")
    return compose_report(
        INCIDENT, [WRITE], around(**known, unexplained=(), unrecorded=seen), at(60)
    )


class TestWitness:
    def test_impersonator_and_source_address_are_in_every_format(self) -> None:
        report = reported(Witness("outsider", stored=True, source="10.0.0.7", user_agent="kubectl"))
        [write] = report.writes
        assert (write.impersonator, write.address, write.stored) == (
            "outsider",
            "10.0.0.7",
            Answer.YES,
        )
        for text in (render_markdown(report, ""), render_page(report, "")):
            assert "impersonated by outsider" in text
            assert "from 10.0.0.7" in text.replace("`", "")
        [row] = csv.DictReader(io.StringIO(render_csv(report)))
        told = (row["impersonator"], row["address"], row["user_agent"], row["stored"])
        assert told == ("outsider", "10.0.0.7", "kubectl", "yes")

    def test_write_without_impersonation_has_no_impersonator(self) -> None:
        assert reported(Witness("responder", stored=True)).writes[0].impersonator == ""

    def test_allowed_write_that_was_not_stored_is_reported(self) -> None:
        report = reported(Witness("responder", stored=False))
        assert "was allowed, but was not stored" in render_markdown(report, "")

    @pytest.mark.parametrize("witness", [None, Witness("responder", stored=None)])
    def test_unknown_outcome_of_a_write_stays_unknown(self, witness: Witness | None) -> None:
        assert reported(witness).writes[0].stored is Answer.UNKNOWN


class TestUnrecorded:
    def test_unrecorded_write_is_in_every_format(self) -> None:
        report = reported(None, SEEN)
        what = "lead (impersonated by outsider) from 10.0.0.7 patched it at 2026-03-01T12:02:00Z"
        assert report.unrecorded[0].what.startswith(what)
        assert what in render_markdown(report, "").replace("\\", "")
        assert what in render_page(report, "")
        row = list(csv.DictReader(io.StringIO(render_csv(report))))[-1]
        assert (row["verdict"], row["clause"], row["actor"]) == ("unrecorded", "emergency", "lead")
        assert report.summary[0] == (
            "INC-42: 2 writes by hand to 1 object, by lead and responder,"
            " from 2026-03-01 12:01 to 12:02 UTC; 1 of them without a record, by the audit log."
        )

    def test_unrecorded_write_is_in_the_timeline(self) -> None:
        report = reported(None, replace(SEEN, time=at(0.5)))
        lines = render_markdown(report, "").splitlines()
        first, second, *_ = [line for line in lines if line.startswith("- **2026")]
        assert first == (
            "- **2026-03-01 12:00:30** lead (impersonated by outsider) from `10.0.0.7`:"
            " patched Deployment shop/web, without a record (emergency)."
        )
        assert "responder: edit Deployment shop/web was allowed" in second
        timeline = timeline_of(report)
        assert timeline is not None
        assert [mark.kind for mark in timeline.marks] == ["past", "allowed"]
        assert [row.name for row in timeline.rows] == ["lead", "responder"]

    def test_report_of_unrecorded_writes_only_does_not_claim_that_nothing_changed(self) -> None:
        scope = Scope(actor="lead")
        seen = unrecorded_in([SEEN], report_scope_of(scope, []), "test")
        report = compose_report(scope, [], around(unexplained=(), unrecorded=seen), at(60))
        assert report.summary[0].startswith("lead: 1 write by hand to 1 object, by lead, at ")
        assert timeline_of(report) is not None

    def test_unrecorded_write_of_a_reconciler_is_not_by_hand(self) -> None:
        report = reported(None, replace(SEEN, by_controller=True))
        assert "by responder, at" in report.summary[0]

    @pytest.mark.parametrize(("unexplained", "count"), [((), 0), (None, 1)])
    def test_unrecorded_write_is_a_follow_up_without_a_comparison_with_git(
        self, unexplained: tuple[Unexplained, ...] | None, count: int
    ) -> None:
        seen = unrecorded_in([SEEN], report_scope_of(INCIDENT, [WRITE]), "test")
        report = compose_report(
            INCIDENT, [], around(unexplained=unexplained, unrecorded=seen), at(60)
        )
        assert len(report.obligations) == count
        for each in report.obligations:
            assert each.command == "glasswarden blame deployment/web -n shop --audit-log FILE"

    @pytest.mark.parametrize(
        ("scope", "differing", "is_in"),
        [
            (INCIDENT, {}, True),
            (INCIDENT, {"ref": replace(WEB, name="other")}, True),
            (INCIDENT, {"ref": replace(WEB, name="other"), "owner": OTHERS}, False),
            (INCIDENT, {"time": at(59)}, True),
            (INCIDENT, {"time": at(200)}, False),
            (INCIDENT, {"ref": REGISTRATION, "sort": ObservationKind.GUARD}, True),
            (Scope(since=at(0)), {"time": at(200)}, True),
            (Scope(since=at(3)), {}, False),
            (Scope(until=at(1)), {}, False),
            (Scope(namespace="shop"), {}, True),
            (Scope(namespace="shop"), {"time": at(200)}, True),
            (Scope(namespace="other"), {}, False),
            (Scope(app="shop"), {}, True),
            (Scope(app="other"), {}, False),
            (Scope(actor="lead"), {}, True),
            (Scope(actor="outsider"), {}, True),
            (Scope(actor="developer"), {}, False),
        ],
        ids=str,
    )
    def test_unrecorded_writes_are_selected_by_the_scope_of_the_report(
        self, scope: Scope, differing: dict[str, Any], *, is_in: bool
    ) -> None:
        seen = replace(SEEN, **differing)
        assert bool(unrecorded_in([seen], report_scope_of(scope, [WRITE]), "test")) is is_in

    def test_hostile_names_are_escaped(self) -> None:
        hostile = replace(SEEN, actor=HOSTILE, user=HOSTILE, source=HOSTILE, user_agent=HOSTILE)
        report = reported(None, hostile)
        page = render_page(report, "")
        assert "<script" not in page
        markdown = render_markdown(report, "")
        assert "<script" not in re.sub(r"(`+).*?\1(?!`)", "", markdown).replace("\\<", "")
        for text in (page, markdown, render_csv(report)):
            assert "\x1b" not in text
        cells = [cell for row in csv.reader(io.StringIO(render_csv(report))) for cell in row]
        assert not any(cell.startswith("=") for cell in cells)
