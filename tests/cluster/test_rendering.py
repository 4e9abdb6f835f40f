"""Overlays and charts, rendered by the real kustomize and helm."""

import shutil
from pathlib import Path

import pytest

from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import Address
from correlator.declared.manifests import Manifests
from correlator.declared.read import read_declared
from correlator.declared.render import Release
from tests.cluster.controlplane import ControlPlane

BASE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
"""
TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-settings", namespace: "{{ .Release.Namespace }}"}
data: {colour: "{{ .Values.colour }}"}
"""
HOOK = """\
apiVersion: v1
kind: Pod
metadata: {name: check, annotations: {helm.sh/hook: test}}
spec: {containers: [{name: check, image: check}]}
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def an_overlay(folder: Path) -> Path:
    return written(
        folder,
        {
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "base/web.yaml": BASE,
            "prod/kustomization.yaml": "resources: [../base]\nnamespace: prod\n"
            "replicas: [{name: web, count: 5}]\n",
        },
    )


def a_chart(folder: Path) -> Path:
    return written(
        folder,
        {
            "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
            "values.yaml": "colour: blue\n",
            "templates/settings.yaml": TEMPLATE,
            "templates/tests/check.yaml": HOOK,
        },
    )


def read(place: Path, path: str = "", release: Release | None = None) -> Manifests:
    return read_declared(Address(str(place), ""), path, release or Release())


@pytest.mark.usefixtures("renderers")
def test_an_overlay_is_built_with_kustomize(tmp_path: Path) -> None:
    [web] = read(an_overlay(tmp_path), "prod").objects
    assert web.manifest["metadata"]["namespace"] == "prod"
    assert web.manifest["spec"]["replicas"] == 5


def test_an_overlay_is_built_with_kubectl_where_kustomize_is_missing(
    tmp_path: Path, cluster: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "kubectl").symlink_to(cluster.programs["kubectl"])
    monkeypatch.setenv("PATH", str(programs))
    assert shutil.which("kustomize") is None
    [web] = read(an_overlay(tmp_path / "work"), "prod").objects
    assert web.manifest["spec"]["replicas"] == 5


@pytest.mark.usefixtures("renderers")
def test_overlay_that_cannot_be_built_is_reported_with_the_reason(tmp_path: Path) -> None:
    folder = written(tmp_path, {"kustomization.yaml": "resources: [gone.yaml]\n"})
    with pytest.raises(DeclaredUnreadable, match=r"kustomize failed.*gone\.yaml"):
        read(folder)


@pytest.mark.usefixtures("renderers")
def test_a_chart_is_rendered_with_its_release_and_values(tmp_path: Path) -> None:
    chart = a_chart(tmp_path / "shop")
    values = tmp_path / "prod.yaml"
    values.write_text("colour: red\n")
    [plain] = read(chart).objects
    assert plain.manifest["data"] == {"colour": "blue"}
    assert plain.manifest["metadata"] == {"name": "shop-settings", "namespace": "default"}
    [prod] = read(chart, release=Release("eu", "prod", (values,))).objects
    assert prod.manifest["data"] == {"colour": "red"}
    assert prod.manifest["metadata"] == {"name": "eu-settings", "namespace": "prod"}


@pytest.mark.usefixtures("renderers")
def test_chart_that_cannot_be_rendered_is_reported_with_the_reason(tmp_path: Path) -> None:
    chart = written(a_chart(tmp_path), {"templates/broken.yaml": "{{ .Values.a.b }}"})
    with pytest.raises(DeclaredUnreadable, match="helm failed"):
        read(chart)
