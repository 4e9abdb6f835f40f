"""Argo CD without its API: what its Applications in the cluster report."""

import json
from pathlib import Path
from typing import Any

import pytest

from correlator.finding import Result
from correlator.live.folder import FolderLive
from correlator.live.source import Scope
from correlator.sources.argocd_api import Asked
from correlator.sources.argocd_core import read_core
from glasswarden.kube.objects import Object
from glasswarden.policy.policy import DEFAULT
from tests.kube.builders import an_object

HERE = "https://kubernetes.default.svc"


def an_application(name: str = "shop", server: str = HERE, **status: Any) -> Object:  # noqa: ANN401
    return an_object(
        "argoproj.io/v1alpha1/Application",
        name=name,
        namespace="argocd",
        spec={"destination": {"server": server}},
        status={"sync": {"status": "Synced"}, **status},
    )


def a_job(**resource: Any) -> Object:  # noqa: ANN401 - any JSON value
    return {"group": "batch", "version": "v1", "kind": "Job", "namespace": "prod", "name": "m"} | (
        resource
    )


def told(folder: Path, *objects: Object, asked: Asked | None = None) -> Result:
    for number, each in enumerate(objects):
        (folder / f"{number}.json").write_text(json.dumps(each))
    return read_core(FolderLive(folder, Scope()), DEFAULT, asked or Asked())


def test_an_object_that_is_to_be_pruned_is_an_orphan(tmp_path: Path) -> None:
    app = an_application(resources=[a_job(requiresPruning=True)])
    [finding] = told(tmp_path, app, an_object("batch/v1/Job", name="m")).findings
    assert finding.is_orphan


def test_hook_to_be_pruned_is_no_orphan(tmp_path: Path) -> None:
    app = an_application(resources=[a_job(requiresPruning=True, hook=True)])
    assert told(tmp_path, app, an_object("batch/v1/Job", name="m")) == Result(
        looked_for="difference that Argo CD sees"
    )


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (
            {
                "sync": {"status": "Unknown"},
                "conditions": [{"type": "ComparisonError", "message": "no repository"}],
            },
            "Argo CD has not compared it: no repository",
        ),
        ({"sync": {"status": "Unknown"}}, "Argo CD has not compared it: Unknown"),
        ({"sync": {}}, "Argo CD has not compared it: no status yet"),
    ],
)
def test_application_without_a_comparison_is_incomplete(
    tmp_path: Path, status: Object, why: str
) -> None:
    result = told(tmp_path, an_application(**status))
    assert [(each.what, each.why) for each in result.incomplete] == [
        ("Application argocd/shop", why)
    ]


def test_application_of_another_cluster_is_skipped(tmp_path: Path) -> None:
    there = an_application("there", "https://elsewhere")
    assert told(tmp_path, an_application(), there).incomplete == ()


@pytest.mark.parametrize("asked", [Asked(), Asked("there")])
def test_applications_of_other_clusters_only_are_incomplete(tmp_path: Path, asked: Asked) -> None:
    result = told(tmp_path, an_application("there", "https://elsewhere"), asked=asked)
    assert [each.why for each in result.incomplete] == [
        "they deploy to https://elsewhere: say --argocd-cluster if that is this cluster"
    ]


def test_missing_application_is_incomplete(tmp_path: Path) -> None:
    result = told(tmp_path, an_application(), asked=Asked("nothing"))
    assert [each.what for each in result.incomplete] == ["Application nothing"]
