"""What Argo CD's API reports: its comparison, and who was behind its server."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from correlator.classify.rule import Scene
from correlator.classify.rules import classify
from correlator.finding import Cause, Finding, Incomplete
from correlator.linker import leave_unlinked
from correlator.live.folder import FolderLive
from correlator.live.source import Scope
from correlator.sources.argocd import findings_in
from correlator.sources.argocd_people import naming, web_edits
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.objects import Object
from glasswarden.policy.policy import DEFAULT
from tests.correlator.classify.test_rules import ARGOCD, NOW, WEB, a_finding
from tests.kube.builders import a_deployment, an_entry, an_object, managed_by

SHOP = Owner("argocd", "shop", "argocd", "Application")


def an_item(live: Object | None, target: Object | None, wanted: Object | None) -> dict[str, Any]:
    return {
        "group": "apps",
        "kind": "Deployment",
        "namespace": "prod",
        "name": "web",
        "liveState": json.dumps(live),
        "targetState": json.dumps(target),
        "normalizedLiveState": json.dumps(live),
        "predictedLiveState": json.dumps(wanted),
    }


def told(*states: Object | None) -> list[Finding | Incomplete]:
    return list(findings_in(an_item(*states), SHOP))


def test_change_of_a_sync_is_a_finding_with_its_managers() -> None:
    live = managed_by(a_deployment(replicas=5), an_entry("kubectl", "/spec/replicas"))
    [finding] = told(live, a_deployment(replicas=3), a_deployment(replicas=3))
    assert isinstance(finding, Finding)
    assert (str(finding.field), finding.declared, finding.live) == ("/spec/replicas", 3, 5)
    assert (finding.owner, finding.managers) == (SHOP, ("kubectl",))
    verdict = classify(finding, Scene(DEFAULT, NOW)).verdict
    assert verdict is not None
    assert verdict.cause == Cause.PERSON


def test_objects_are_missing_or_orphaned() -> None:
    [missing] = told(None, a_deployment(), a_deployment())
    [orphan] = told(a_deployment(), None, None)
    assert isinstance(missing, Finding)
    assert isinstance(orphan, Finding)
    assert missing.is_missing_object
    assert orphan.is_orphan
    assert missing.ref == orphan.ref == replace(WEB, uid="")


def test_object_in_sync_is_no_finding() -> None:
    assert told(a_deployment(), a_deployment(), a_deployment()) == []
    assert told(None, None, None) == []


def test_hook_is_no_finding() -> None:
    job = an_object("batch/v1/Job", name="migrate")
    assert list(findings_in(an_item(job, None, None) | {"hook": True}, SHOP)) == []


@pytest.mark.parametrize("text", ["{", "[]", '"text"'])
def test_unreadable_state_is_incomplete(text: str) -> None:
    item = an_item(a_deployment(), a_deployment(), a_deployment()) | {"predictedLiveState": text}
    [said] = findings_in(item, SHOP)
    assert isinstance(said, Incomplete)
    assert said.what == "Deployment prod/web of shop"


PATCHED = "responder patched resource apps/Deployment 'web'"


def an_event(message: str = PATCHED, user: str = "responder", **differing: Any) -> Object:  # noqa: ANN401
    involved = {"kind": "Application", "name": "shop", "namespace": "argocd"}
    fields = {
        "reason": "ResourceUpdated",
        "message": message,
        "involvedObject": involved,
        "lastTimestamp": "2026-03-01T11:00:00Z",
        "source": {"component": "argocd-server"},
    }
    event = an_object("v1/Event", name="shop.1", annotations={"user": user} if user else None)
    return event | fields | differing


@pytest.mark.parametrize(
    ("event", "name"),
    [
        pytest.param(an_event(), "web", id="patched"),
        pytest.param(
            an_event("responder ran action restart on resource apps/Deployment/web"),
            "web",
            id="restarted",
        ),
        pytest.param(an_event("responder deleted resource /Secret 'db'"), "db", id="deleted"),
    ],
)
def test_event_names_the_user_of_the_web_ui(event: Object, name: str) -> None:
    [edit] = web_edits([event])
    assert (edit.user, edit.app, edit.name) == ("responder", "shop", name)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(an_event(user=""), id="nobody"),
        pytest.param(an_event(user="Unknown user"), id="anybody"),
        pytest.param(an_event("responder updated application spec"), id="the Application itself"),
        pytest.param(an_event(lastTimestamp=None), id="at no time"),
        pytest.param(an_event(involvedObject={"kind": "Deployment"}), id="of something else"),
    ],
)
def test_event_without_a_user_or_object_is_skipped(event: Object) -> None:
    assert web_edits([event]) == []


def named(folder: Path, finding: Finding, *events: Object) -> Sequence[Finding]:
    for number, each in enumerate(events):
        (folder / f"{number}.json").write_text(json.dumps(each))
    return naming(FolderLive(folder, Scope()), leave_unlinked)([finding])


def edited(manager: str = "argocd-server", time: str = "2026-03-01T10:59:59Z") -> Finding:
    holders = (Entry("Update", manager, time=time),)
    return replace(a_finding(owner=ARGOCD), holders=holders)


def test_edit_in_the_web_ui_names_its_user(tmp_path: Path) -> None:
    [finding] = named(tmp_path, edited(), an_event())
    assert finding.behind == "responder"
    verdict = classify(finding, Scene(DEFAULT, NOW)).verdict
    assert verdict is not None
    assert "for responder as it says" in verdict.reason


@pytest.mark.parametrize(
    "finding",
    [
        pytest.param(edited("kubectl-edit"), id="by another program"),
        pytest.param(edited(time="2026-03-01T09:00:00Z"), id="at another time"),
        pytest.param(replace(edited(), ref=replace(WEB, name="api")), id="another object"),
        pytest.param(replace(edited(), owner=replace(ARGOCD, app="other")), id="another app"),
    ],
)
def test_edit_without_a_matching_event_names_no_user(tmp_path: Path, finding: Finding) -> None:
    assert named(tmp_path, finding, an_event())[0].behind == ""


def test_deletion_in_the_web_ui_names_its_user(tmp_path: Path) -> None:
    gone = replace(a_finding("/", {"kind": "Deployment"}, ABSENT, by="", owner=ARGOCD))
    event = an_event("responder deleted resource apps/Deployment 'web'", reason="ResourceDeleted")
    assert named(tmp_path, gone, event)[0].behind == "responder"
