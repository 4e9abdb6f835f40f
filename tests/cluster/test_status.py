"""Some subresources of built-in kinds are written with the metadata: no way around the guard."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.applications import by_argocd, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, registered, serving
from tests.cluster.kubectl import Caller, Result
from tests.cluster.wiretap import Wiretap, tapped


@pytest.fixture(scope="module")
def asked(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Guard, Wiretap]]:
    with (
        serving(cluster, tmp_path_factory.mktemp("guard")) as guard,
        tapped(guard) as (tap, url),
        registered(cluster, url, guard.certificates.authority, guard.policy),
    ):
        yield guard, tap


def patched(caller: Caller, target: str, namespace: str, patch: dict[str, Any]) -> Result:
    """Patch the status of *target*, and whatever else the API server takes with it."""
    words = ("patch", target, "-n", namespace, "--subresource=status", "--type=merge")
    return caller.kubectl(*words, "-p", json.dumps(patch), check=False)


def test_marks_cannot_be_removed_through_a_status_subresource(
    asked: tuple[Guard, Wiretap], argocd_account: Caller, flux_account: Caller, namespace: str
) -> None:
    guard, _ = asked
    developer = guard.cluster.as_("developer")
    manifest = by_argocd(deployment("web", namespace), "shop")
    argocd_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    stateful = by_flux(deployment("db", namespace), "shop") | {"kind": "StatefulSet"}
    stateful["spec"] = {**stateful["spec"], "serviceName": "db"}
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=stateful)
    for target, metadata in (
        ("deployment/web", {"annotations": {"argocd.argoproj.io/tracking-id": None}}),
        ("statefulset/db", {"labels": {"kustomize.toolkit.fluxcd.io/name": None}}),
    ):
        denied = patched(developer, target, namespace, {"metadata": metadata})
        assert 'admission webhook "status.glasswarden.io" denied' in denied.stderr
        assert "the marks on" in denied.stderr


REFERENCE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "name": "nobody",
    "uid": "8a3f6c0e-1b5d-4c0f-9d68-1d7c0e6f2a11",
    "controller": True,
}


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"kustomize.toolkit.fluxcd.io/namespace": None}},
        {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}},
        {"ownerReferences": [REFERENCE]},
    ],
    ids=["a mark that is no sign", "a switch", "somebody else's controller"],
)
def test_metadata_that_releases_an_object_cannot_be_written_through_status(
    asked: tuple[Guard, Wiretap], flux_account: Caller, namespace: str, metadata: dict[str, Any]
) -> None:
    guard, _ = asked
    stateful = by_flux(deployment("db", namespace), "shop") | {"kind": "StatefulSet"}
    stateful["spec"] = {**stateful["spec"], "serviceName": "db"}
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=stateful)
    denied = patched(
        guard.cluster.as_("developer"), "statefulset/db", namespace, {"metadata": metadata}
    )
    assert 'admission webhook "status.glasswarden.io" denied' in denied.stderr, denied


def test_stamps_cannot_be_written_through_a_status_subresource(
    asked: tuple[Guard, Wiretap], flux_account: Caller, namespace: str
) -> None:
    guard, _ = asked
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    forged = {"metadata": {"annotations": {"breakglass.glasswarden.io/grant": "let me in"}}}
    for target in ("deployment/web", f"namespace/{namespace}"):
        denied = patched(guard.cluster.as_("outsider"), target, namespace, forged)
        assert "Stamps are Glasswarden's alone to write." in denied.stderr


def test_webhook_is_not_called_for_an_ordinary_status_write(
    asked: tuple[Guard, Wiretap], flux_account: Caller, namespace: str
) -> None:
    guard, tap = asked
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    before = len(tap.reviews)
    status = {
        "metadata": {"annotations": {"example.com/seen": "x"}},
        "status": {"observedGeneration": 1},
    }
    done = patched(guard.cluster.as_("developer"), "deployment/web", namespace, status)
    assert done.returncode == 0, done
    assert len(tap.reviews) == before


CONTAINERS = {"containers": [{"name": "app", "image": "registry.example/web:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": CONTAINERS}
LOOSE = {
    "pod": ("v1", CONTAINERS),
    "replicationcontroller": ("v1", {"selector": {"app": "x"}, "template": TEMPLATE}),
    "replicaset": (
        "apps/v1",
        {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE, "replicas": 0},
    ),
    "resourcequota": ("v1", {"hard": {"configmaps": "100"}}),
    "persistentvolume": (
        "v1",
        {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
        },
    ),
    "node": ("v1", {}),
}
KINDS = {
    "pod": "Pod",
    "replicationcontroller": "ReplicationController",
    "replicaset": "ReplicaSet",
    "resourcequota": "ResourceQuota",
    "persistentvolume": "PersistentVolume",
    "node": "Node",
}


@pytest.mark.parametrize("kind", LOOSE)
def test_webhook_is_called_for_every_kind_whose_status_writes_metadata(
    asked: tuple[Guard, Wiretap], namespace: str, kind: str, request: pytest.FixtureRequest
) -> None:
    guard, _ = asked
    version, spec = LOOSE[kind]
    name = f"{namespace}-{kind}"
    metadata = {"name": name}
    if kind not in {"node", "persistentvolume"}:
        metadata["namespace"] = namespace
    made = {"apiVersion": version, "kind": KINDS[kind], "metadata": metadata, "spec": spec}
    guard.cluster.as_("admin").kubectl("create", "-f", "-", stdin=made)
    request.addfinalizer(
        lambda: guard.cluster.as_("admin").kubectl(
            "delete", kind, name, "-n", namespace, "--wait=false", check=False
        )
    )
    forged = {"metadata": {"annotations": {"breakglass.glasswarden.io/grant": "let me in"}}}
    denied = patched(guard.cluster.as_("outsider"), f"{kind}/{name}", namespace, forged)
    assert "Stamps are Glasswarden's alone to write." in denied.stderr
    other = {"metadata": {"annotations": {"example.com/seen": "x"}}}
    patched(guard.cluster.as_("outsider"), f"{kind}/{name}", namespace, other)
    found = guard.cluster.get(f"{kind}/{name}", "-n", namespace)
    assert "example.com/seen" in found["metadata"]["annotations"]  # so the entry is needed


def test_namespace_cannot_be_stamped_through_its_finalize_subresource(
    asked: tuple[Guard, Wiretap], namespace: str
) -> None:
    guard, _ = asked
    outsider = guard.cluster.as_("outsider")

    def finalized(annotations: dict[str, str]) -> Result:
        found = guard.cluster.get(f"namespace/{namespace}")
        found["metadata"].setdefault("annotations", {}).update(annotations)
        raw = ("replace", "--raw", f"/api/v1/namespaces/{namespace}/finalize", "-f", "-")
        return outsider.kubectl(*raw, stdin=found, check=False)

    denied = finalized({"breakglass.glasswarden.io/grant": "let me in"})
    assert "Stamps are Glasswarden's alone to write." in denied.stderr
    assert finalized({"example.com/seen": "x"}).returncode == 0
    found = guard.cluster.get(f"namespace/{namespace}")
    assert found["metadata"]["annotations"]["example.com/seen"] == "x"
