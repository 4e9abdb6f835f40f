"""The detector's examination on a real API server: deploy, mutate, look, and compare."""

import copy
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from correlator.classify.rule import Scene
from correlator.declared.git import Address
from correlator.declared.read import read_declared
from correlator.declared.render import Release
from correlator.detector.detect import Detector
from correlator.finding import Result
from correlator.inspection.scan import Scan
from correlator.live.cluster import ClusterLive
from correlator.live.source import Scope
from glasswarden.cluster.client import ApiServer
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.kube.objects import Object, ref_of
from glasswarden.policy.policy import DEFAULT
from tests.cluster.api import Api, WriteFailed
from tests.cluster.controlplane import ControlPlane
from tests.cluster.drift_kinds import FLUX, NAMESPACE, Case, definitions
from tests.cluster.retries import eventually

Difference = tuple[str, str]
"""An object, as kind and name, and a field."""


def deploy(cluster: ControlPlane, cases: Iterable[Case]) -> Api:
    """Apply the manifest of every case as Flux does, marks included."""
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    folder = cluster.folder / "drift-definitions"
    folder.mkdir(exist_ok=True)
    for each in definitions():
        (folder / f"{each['metadata']['name']}.json").write_text(json.dumps(each))
    cluster.define(folder)
    api = Api(cluster.as_("admin"))
    for case in cases:
        api.apply(marked(case.manifest), "kustomize-controller")
    return api


def mutate(api: Api, cases: Iterable[Case]) -> None:
    """Do to each object what its case says."""
    gone = []
    refused = []
    for case in cases:
        try:
            if case.mutation.delete:
                api.delete(case.manifest)
                gone.append(case.manifest)
            else:
                api.patch(case.manifest, case.mutation.patch, case.mutation.manager)
        except WriteFailed as error:
            refused.append(f"{case.name}: {error}")
    if refused:
        raise WriteFailed("\n".join(refused))
    eventually(lambda: not any(map(api.get, gone)), "the deleted objects to be gone")


def marked(manifest: Object, app: str = "") -> Object:
    """Return *manifest* with the labels that Flux adds: each namespace is an application's own.

    Tests that share a control plane would otherwise find each other's objects, as orphans; what is
    in no namespace belongs to the examination, or to *app*.
    """
    copied = copy.deepcopy(manifest)
    app = app or copied["metadata"].get("namespace", NAMESPACE)
    copied["metadata"]["labels"] |= {**FLUX, "kustomize.toolkit.fluxcd.io/name": app}
    return copied


def write_manifests(folder: Path, cases: Iterable[Case]) -> Path:
    """Write what Git declares: the manifests without marks."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        name = f"{case.manifest['kind']}-{case.manifest['metadata']['name']}.json"
        (folder / name).write_text(json.dumps(case.manifest))
    return folder


def scanned(kubeconfig: Path, folder: Path, scope: Scope | None = None) -> Result:
    """Return what a scan finds."""
    live = ClusterLive(ApiServer(access_from(kubeconfig), "tests"), scope or Scope())
    manifests = read_declared(Address(str(folder), ""), "", Release())
    scan = Scan(Detector(DEFAULT, manifests.revision), manifests, live)
    scan.run()
    return scan.result(scan.scene(Scene(DEFAULT, datetime.now(UTC))))


def expected(cases: Iterable[Case]) -> set[Difference]:
    """Return what must be found."""
    return {(named(case.manifest), field) for case in cases for field in case.mutation.finds}


def found(result: Result) -> set[Difference]:
    """Return what was found."""
    return {(f"{each.ref.kind}/{each.ref.name}", str(each.field)) for each in result.findings}


def named(manifest: Object) -> str:
    ref = ref_of(manifest)
    return f"{ref.kind}/{ref.name}"
