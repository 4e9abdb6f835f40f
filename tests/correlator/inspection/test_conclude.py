"""One pass by the ledger alone, with the objects around its findings."""

import json
from dataclasses import replace
from pathlib import Path

from correlator.classify.rule import Scene
from correlator.finding import Finding, Response, Result
from correlator.inspection.conclude import conclude_reported
from correlator.live.folder import FolderLive
from correlator.live.source import Scope
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import parse_path
from glasswarden.policy.policy import DEFAULT
from tests.correlator.classify.test_rules import ARGOCD, NOW, WEB
from tests.kube.builders import an_object

SCALED = Finding(WEB, parse_path("/spec/replicas"), 3, 5, NOW, "ledger")
FLUX = Owner("flux", "shop", "flux-system", "Kustomization")
KUSTOMIZATION = an_object(
    "kustomize.toolkit.fluxcd.io/v1/Kustomization",
    name="shop",
    namespace="flux-system",
    spec={"suspend": True},
)


def result(folder: Path, finding: Finding, *objects: Object) -> Result:
    for number, each in enumerate(objects):
        (folder / f"{number}.json").write_text(json.dumps(each))
    live = FolderLive(folder, Scope())
    return conclude_reported(Result((finding,)), live, Scene(DEFAULT, NOW))


def responses(told: Result) -> list[tuple[str, str]]:
    return [(str(each.ref), each.verdict.response) for each in told.findings if each.verdict]


def test_replicas_of_an_autoscaled_object_are_ignored(tmp_path: Path) -> None:
    target = {"kind": "Deployment", "name": "web"}
    autoscaler = an_object(
        "autoscaling/v2/HorizontalPodAutoscaler", spec={"scaleTargetRef": target}
    )
    told = result(tmp_path, SCALED, autoscaler)
    assert responses(told) == [("Deployment prod/web", Response.IGNORE)]


def test_ignore_differences_of_an_application_are_respected(tmp_path: Path) -> None:
    entry = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
    application = an_object(
        "argoproj.io/v1alpha1/Application", name="shop", spec={"ignoreDifferences": [entry]}
    )
    told = result(tmp_path, replace(SCALED, owner=ARGOCD), application)
    assert responses(told) == [("Deployment prod/web", Response.IGNORE)]


def test_suspended_reconciler_is_reported_once(tmp_path: Path) -> None:
    told = result(tmp_path, replace(SCALED, owner=FLUX), KUSTOMIZATION)
    assert responses(told) == [
        ("Kustomization flux-system/shop", Response.ALERT),
        ("Deployment prod/web", Response.ALERT),
    ]
    ref = Ref("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "flux-system", "shop")
    suspended = Finding(ref, parse_path("/spec/suspend"), "(not known)", True, NOW, "ledger")
    told = result(tmp_path, replace(suspended, owner=FLUX), KUSTOMIZATION)
    assert [each.source for each in told.findings] == ["ledger"]


def test_result_without_findings_names_what_was_inspected(tmp_path: Path) -> None:
    told = conclude_reported(Result(), FolderLive(tmp_path, Scope()), Scene(DEFAULT, NOW))
    assert (told.findings, told.looked_for) == ((), "drift")
