"""A status of a built-in kind is written together with its metadata: no way around the guard."""

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


def test_marks_are_not_taken_off_by_way_of_it(
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
def test_nor_is_anything_else_that_would_set_an_object_free(
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


def test_stamps_are_not_written_by_way_of_it(
    asked: tuple[Guard, Wiretap], flux_account: Caller, namespace: str
) -> None:
    guard, _ = asked
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    forged = {"metadata": {"annotations": {"breakglass.glasswarden.io/grant": "let me in"}}}
    for target in ("deployment/web", f"namespace/{namespace}"):
        denied = patched(guard.cluster.as_("outsider"), target, namespace, forged)
        assert "Stamps are Glasswarden's alone to write." in denied.stderr


def test_nobody_is_asked_about_an_ordinary_status(
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
