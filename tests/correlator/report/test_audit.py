"""What the audit log adds to a report: who posed, from where, stored or not, what has no record."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest

from correlator.audit.sighting import Sighting, Sort
from correlator.link.drifted import Witness
from correlator.report.compose import compose
from correlator.report.markdown import render_markdown
from correlator.report.model import Report, Scope
from correlator.report.page import render_page
from correlator.report.table import render_csv
from correlator.report.unrecorded import unrecorded_in
from correlator.standing import Answer
from glasswarden.kube.objects import Ref
from glasswarden.kube.owners import Owner
from tests.correlator.link.builders import at
from tests.correlator.report.builders import HOSTILE, around, granted

WEB = Ref("apps", "v1", "Deployment", "shop", "web")
REGISTRATION = Ref("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "", "g")
SEEN = Sighting(
    sort=Sort.EMERGENCY,
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
INCIDENT = Scope(ticket="INC-42")
WRITE = granted(1, "/spec/replicas", old=5, new=8)


def reported(witness: Witness | None = None, *sightings: Sighting) -> Report:
    known: dict[str, Any] = {"witnesses": {WRITE.id: witness}} if witness else {}
    seen = unrecorded_in(sightings, INCIDENT, [WRITE], "test")
    return compose(INCIDENT, [WRITE], around(**known, unrecorded=seen), at(60))


class TestWitness:
    def test_who_posed_and_from_where_in_every_format(self) -> None:
        report = reported(Witness("outsider", stored=True, source="10.0.0.7", user_agent="kubectl"))
        [write] = report.writes
        assert (write.impersonator, write.address, write.stored) == (
            "outsider",
            "10.0.0.7",
            Answer.YES,
        )
        for text in (render_markdown(report, ""), render_page(report, "")):
            assert "posed as by outsider" in text
            assert "from 10.0.0.7" in text.replace("`", "")
        [row] = csv.DictReader(io.StringIO(render_csv(report)))
        told = (row["impersonator"], row["address"], row["user_agent"], row["stored"])
        assert told == ("outsider", "10.0.0.7", "kubectl", "yes")

    def test_one_who_did_not_pose_is_not_said_to(self) -> None:
        assert reported(Witness("responder", stored=True)).writes[0].impersonator == ""

    def test_what_was_allowed_and_not_stored_is_said(self) -> None:
        report = reported(Witness("responder", stored=False))
        assert "was allowed, and was not stored after all" in render_markdown(report, "")

    @pytest.mark.parametrize("witness", [None, Witness("responder", stored=None)])
    def test_what_is_not_known_stays_so(self, witness: Witness | None) -> None:
        assert reported(witness).writes[0].stored is Answer.UNKNOWN


class TestUnrecorded:
    def test_it_is_in_every_format(self) -> None:
        report = reported(None, SEEN)
        what = "lead (posed as by outsider) from 10.0.0.7 patched it at 2026-03-01T12:02:00Z"
        assert report.unrecorded[0].what.startswith(what)
        assert what in render_markdown(report, "").replace("\\", "")
        assert what in render_page(report, "")
        row = list(csv.DictReader(io.StringIO(render_csv(report))))[-1]
        assert (row["verdict"], row["clause"], row["actor"]) == ("unrecorded", "emergency", "lead")
        assert "1 write without a record, by the audit log." in report.summary[3]

    @pytest.mark.parametrize(
        ("scope", "differing", "is_in"),
        [
            (INCIDENT, {}, True),
            (INCIDENT, {"ref": replace(WEB, name="other")}, False),
            (INCIDENT, {"time": at(59)}, True),
            (INCIDENT, {"time": at(200)}, False),
            (INCIDENT, {"ref": REGISTRATION, "sort": Sort.GUARD}, True),
            (Scope(since=at(0)), {"time": at(200)}, True),
            (Scope(since=at(3)), {}, False),
            (Scope(until=at(1)), {}, False),
            (Scope(namespace="shop"), {}, True),
            (Scope(namespace="other"), {}, False),
            (Scope(app="shop"), {}, True),
            (Scope(app="other"), {}, False),
            (Scope(actor="lead"), {}, True),
            (Scope(actor="outsider"), {}, True),
            (Scope(actor="developer"), {}, False),
        ],
        ids=str,
    )
    def test_what_belongs_to_a_report(
        self, scope: Scope, differing: dict[str, Any], *, is_in: bool
    ) -> None:
        seen = replace(SEEN, **differing)
        assert bool(unrecorded_in([seen], scope, [WRITE], "test")) is is_in

    def test_hostile_names_are_shown_and_not_obeyed(self) -> None:
        hostile = replace(SEEN, actor=HOSTILE, user=HOSTILE, source=HOSTILE, user_agent=HOSTILE)
        report = reported(None, hostile)
        page = render_page(report, "")
        assert "<script" not in page
        markdown = render_markdown(report, "")
        assert "<script" not in markdown.replace("\\<", "")
        for text in (page, markdown, render_csv(report)):
            assert "\x1b" not in text
        cells = [cell for row in csv.reader(io.StringIO(render_csv(report))) for cell in row]
        assert not any(cell.startswith("=") for cell in cells)
