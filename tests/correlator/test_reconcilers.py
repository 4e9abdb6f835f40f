"""`sources`: what the reconcilers say about themselves."""

import json
from pathlib import Path
from typing import Any

import pytest

from correlator.live.folder import FolderLive
from correlator.live.source import Scope
from correlator.sources.argocd import argocd_findings
from correlator.sources.flux import flux_findings, inventory_of
from correlator.sources.reconcilers import read_reconcilers
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object
from glasswarden.kube.owners import Owner
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
    found = flux_findings(a_kustomization(**fields), SHOP)
    return {str(each.field): (each.declared, each.live) for each in found}


def argocd(**fields: Any) -> dict[str, tuple[object, object]]:  # noqa: ANN401 - any JSON value
    found = argocd_findings(an_application(**fields), WEB)
    return {str(each.field): (each.declared, each.live) for each in found}


SAME = {"lastAppliedRevision": "main@sha1:a", "lastAttemptedRevision": "main@sha1:a"}
READY = "/status/conditions[type=Ready]"

FLUX = [
    pytest.param({}, {}, id="new"),
    pytest.param({"status": {**SAME, "conditions": [a_condition("Ready", "True")]}}, {}, id="well"),
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
        {"/status/observedGeneration": (3, 2)},
        id="its own change not seen",
    ),
    pytest.param({"status": "odd", "spec": []}, {}, id="malformed"),
]


@pytest.mark.parametrize(("fields", "expected"), FLUX)
def test_what_flux_says(fields: Object, expected: dict[str, object]) -> None:
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
def test_what_argocd_says(fields: Object, expected: dict[str, object]) -> None:
    assert argocd(**fields) == expected


def test_the_inventory_tells_what_was_applied() -> None:
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


def test_only_the_reconcilers_that_are_concerned_are_told(tmp_path: Path) -> None:
    suspended = a_kustomization(spec={"suspend": True})
    other = {**suspended, "metadata": {"name": "other", "namespace": "flux-system"}}
    (tmp_path / "live.json").write_text(json.dumps({"kind": "List", "items": [suspended, other]}))
    asked = read_reconcilers(FolderLive(tmp_path, Scope()))
    findings, unseen = asked.about(frozenset({SHOP}), frozenset())
    assert [(each.ref.name, str(each.field)) for each in findings] == [("shop", "/spec/suspend")]
    assert unseen == []
    named, _ = asked.about(frozenset(), frozenset({"other"}))
    assert [each.ref.name for each in named] == ["other"]
