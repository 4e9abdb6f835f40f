"""`sources`: what the reconcilers report about themselves."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from correlator.live.folder import FolderLive
from correlator.live.source import Scope
from correlator.sources.argocd import applied_by, argocd_findings
from correlator.sources.flux import flux_findings, inventory_of, source_of
from correlator.sources.grace_period import lasting
from correlator.sources.reconcilers import Reconcilers, read_reconcilers
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Object
from tests.kube.builders import an_object

SHOP = Owner("flux", "shop", "flux-system", "Kustomization")
WEB = Owner("argocd", "web", "argocd", "Application")
TIME = "2026-03-01T10:00:00Z"


def a_kustomization(**fields: Any) -> Object:  # noqa: ANN401 - any JSON value
    kind = "kustomize.toolkit.fluxcd.io/v1/Kustomization"
    return an_object(kind, name="shop", namespace="flux-system", **fields)


def an_application(**fields: Any) -> Object:  # noqa: ANN401 - any JSON value
    return an_object("argoproj.io/v1alpha1/Application", name="web", namespace="argocd", **fields)


def a_condition(kind: str, status: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "reason": "Why",
        "message": "how",
        "lastTransitionTime": TIME,
    }


def flux(**fields: Any) -> dict[str, tuple[object, object]]:  # noqa: ANN401 - any JSON value
    found = lasting(flux_findings(a_kustomization(**fields), SHOP), NOW)
    return {str(each.field): (each.declared, each.live) for each in found}


def argocd(**fields: Any) -> dict[str, tuple[object, object]]:  # noqa: ANN401 - any JSON value
    found = lasting(argocd_findings(an_application(**fields), WEB), NOW)
    return {str(each.field): (each.declared, each.live) for each in found}


SAME = {"lastAppliedRevision": "main@sha1:a", "lastAttemptedRevision": "main@sha1:a"}
READY = "/status/conditions[type=Ready]"

FLUX = [
    pytest.param({}, {}, id="new"),
    pytest.param(
        {"status": {**SAME, "conditions": [a_condition("Ready", "True")]}}, {}, id="healthy"
    ),
    pytest.param({"spec": {"suspend": True}}, {"/spec/suspend": (ABSENT, True)}, id="suspended"),
    pytest.param({"spec": {"suspend": False}}, {}, id="not suspended"),
    pytest.param(
        {"status": {**SAME, "lastAttemptedRevision": "main@sha1:b"}},
        {"/status/lastAppliedRevision": ("main@sha1:b", "main@sha1:a")},
        id="behind",
    ),
    pytest.param(
        {"status": {"conditions": [a_condition("Ready", "False")]}},
        {READY: ("True", "Why: how")},
        id="failing",
    ),
    pytest.param({"status": {"conditions": [a_condition("Ready", "Unknown")]}}, {}, id="at work"),
    pytest.param(
        {"status": {"conditions": [a_condition("Drifted", "True")]}},
        {"/status/conditions[type=Drifted]": ("False", "Why: how")},
        id="drifted",
    ),
    pytest.param(
        {"metadata": {"generation": 3}, "status": {"observedGeneration": 2}},
        {"/status/observedGeneration": ("3", "2")},
        id="its own change not seen, made at an unknown time",
    ),
    pytest.param({"status": "odd", "spec": []}, {}, id="malformed"),
]


@pytest.mark.parametrize(("fields", "expected"), FLUX)
def test_status_of_flux_gives_findings(fields: Object, expected: dict[str, object]) -> None:
    assert flux(**fields) == expected


ARGOCD = [
    pytest.param({}, {}, id="new"),
    pytest.param({"status": {"sync": {"status": "OutOfSync"}}}, {}, id="the detector's business"),
    pytest.param(
        {"status": {"sync": {"status": "Unknown"}}},
        {"/status/sync/status": ("Synced", "Unknown")},
        id="unknown",
    ),
    pytest.param(
        {"status": {"operationState": {"phase": "Failed", "message": "no"}}},
        {"/status/operationState/phase": ("Succeeded", "Failed: no")},
        id="a sync that failed",
    ),
    pytest.param(
        {"status": {"conditions": [{"type": "ComparisonError", "message": "no"}]}},
        {"/status/conditions[type=ComparisonError]": (ABSENT, "no")},
        id="an error",
    ),
    pytest.param(
        {"annotations": {"argocd.argoproj.io/skip-reconcile": "true"}},
        {"/metadata/annotations/argocd.argoproj.io~1skip-reconcile": (ABSENT, "true")},
        id="frozen",
    ),
    pytest.param({"status": {"conditions": ["odd"], "operationState": 1}}, {}, id="malformed"),
]


@pytest.mark.parametrize(("fields", "expected"), ARGOCD)
def test_status_of_argocd_gives_findings(fields: Object, expected: dict[str, object]) -> None:
    assert argocd(**fields) == expected


def test_inventory_of_flux_lists_the_applied_objects() -> None:
    entries = [
        {"id": "prod_web_apps_Deployment", "v": "v1"},
        {"id": "_system__reader_rbac.authorization.k8s.io_ClusterRole", "v": "v1"},
        {"id": "prod_settings__ConfigMap", "v": "v1"},
        {"id": "odd"},
    ]
    obj = a_kustomization(status={"inventory": {"entries": entries}})
    assert inventory_of(obj) == {
        ("apps", "Deployment", "prod", "web"),
        ("rbac.authorization.k8s.io", "ClusterRole", "", "system:reader"),
        ("", "ConfigMap", "prod", "settings"),
    }


def test_findings_are_limited_to_the_reconcilers_concerned(tmp_path: Path) -> None:
    suspended = a_kustomization(spec={"suspend": True})
    other = {**suspended, "metadata": {"name": "other", "namespace": "flux-system"}}
    (tmp_path / "live.json").write_text(json.dumps({"kind": "List", "items": [suspended, other]}))
    asked = read_reconcilers(FolderLive(tmp_path, Scope()))
    findings, unseen = asked.about(frozenset({SHOP}), frozenset())
    assert [(each.ref.name, str(each.field)) for each in findings] == [("shop", "/spec/suspend")]
    assert unseen == []
    named, _ = asked.about(frozenset(), frozenset({"other"}))
    assert [each.ref.name for each in named] == ["other"]


NOW = datetime(2026, 3, 1, 10, 4, tzinfo=UTC)
LATER = NOW + timedelta(days=2)
A_WRITE = {"manager": "kubectl-edit", "operation": "Update", "time": TIME}
LASTING = [
    pytest.param(
        a_kustomization(
            metadata={"generation": 3, "managedFields": [A_WRITE]},
            status={"observedGeneration": 2},
        ),
        "/status/observedGeneration",
        id="its own change not seen",
    ),
    pytest.param(
        a_kustomization(status={"conditions": [a_condition("Ready", "Unknown")]}),
        "/status/conditions[type=Ready]",
        id="neither ready nor failed",
    ),
    pytest.param(
        an_application(status={"operationState": {"phase": "Running", "startedAt": TIME}}),
        "/status/operationState/phase",
        id="an operation that does not end",
    ),
    pytest.param(
        an_application(status={"reconciledAt": TIME}), "/status/reconciledAt", id="not compared"
    ),
]


@pytest.mark.parametrize(("obj", "field"), LASTING)
def test_transient_state_is_a_finding_only_when_it_lasts(obj: Object, field: str) -> None:
    read = flux_findings if obj["kind"] == "Kustomization" else argocd_findings
    found = list(read(obj, SHOP))
    assert lasting(found, NOW) == []
    [finding] = lasting(found, LATER)
    assert str(finding.field) == field
    assert not str(finding.live).startswith("at work")


def a_repository(**status: Any) -> Object:  # noqa: ANN401 - any JSON value
    kind = "source.toolkit.fluxcd.io/v1/GitRepository"
    return an_object(kind, name="shop", namespace="flux-system", status=status)


def asked(folder: Path, *objects: Object) -> Reconcilers:
    for number, each in enumerate(objects):
        (folder / f"{number}.json").write_text(json.dumps(each))
    live = FolderLive(folder, Scope())
    reconcilers = read_reconcilers(live)
    reconcilers.ask_sources(live, frozenset({SHOP}), frozenset())
    return reconcilers


def test_failing_source_of_flux_is_the_finding(tmp_path: Path) -> None:
    source = {"kind": "GitRepository", "name": "shop"}
    status = {"lastAppliedRevision": "main@sha1:a", "conditions": [a_condition("Ready", "True")]}
    shop = a_kustomization(spec={"sourceRef": source}, status=status)
    failing = a_repository(conditions=[a_condition("Ready", "False")])
    reconcilers = asked(tmp_path, shop, failing)
    [finding], _ = reconcilers.about(frozenset({SHOP}), frozenset())
    assert (finding.ref.kind, finding.live) == ("GitRepository", "Why: how")
    following = reconcilers.following(frozenset({SHOP}), frozenset(), NOW)[SHOP]
    assert following.trouble == "does not follow Git (GitRepository flux-system/shop: Why: how)"
    assert following.applied == "main@sha1:a"


@pytest.mark.parametrize(
    "spec",
    [
        {"sourceRef": {"kind": "OCIRepository", "name": "shop"}},
        {"chartRef": {"kind": "OCIRepository", "name": "shop"}},
        {"chart": {"spec": {"sourceRef": {"kind": "OCIRepository", "name": "shop"}}}},
    ],
)
def test_source_of_a_kustomization_is_found(spec: Object) -> None:
    ref = source_of(a_kustomization(spec=spec))
    assert (ref and str(ref)) == "OCIRepository flux-system/shop"


def test_last_revision_of_an_application_is_read_from_its_history() -> None:
    assert (
        applied_by(an_application(status={"history": [{"revision": "a"}, {"revision": "b"}]}))
        == "b"
    )
    assert applied_by(an_application()) == ""
