"""The first thread from end to end: real kubectl, real API server, the real webhook over TLS."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.query import Question
from tests.cluster.applications import Manifest, by_argocd, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller, replace

MORE_REPLICAS = replace("replicas: 3", "replicas: 5")


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("guard")) as running:
        yield running


def deploy(caller: Caller, manifest: Manifest) -> None:
    caller.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)


@pytest.mark.usefixtures("guard")
def test_unmanaged_deployment_can_be_edited(cluster: ControlPlane, namespace: str) -> None:
    developer = cluster.as_("developer")
    developer.kubectl("create", "-f", "-", stdin=deployment("web", namespace))
    developer.kubectl("edit", "deployment/web", "-n", namespace, editor=MORE_REPLICAS)
    assert cluster.get("deployment/web", "-n", namespace)["spec"]["replicas"] == 5


def test_an_edit_of_fluxs_deployment_is_denied(
    guard: Guard, flux_account: Caller, namespace: str
) -> None:
    deploy(flux_account, by_flux(deployment("web", namespace), "shop"))
    denied = guard.cluster.as_("developer").kubectl(
        "edit", "deployment/web", "-n", namespace, editor=MORE_REPLICAS, check=False
    )
    assert denied.returncode == 1
    assert (
        'admission webhook "guard.glasswarden.io" denied the request: '
        f"Deployment {namespace}/web is managed by Flux Kustomization flux-system/shop; "
        "this direct write is refused.\n"
        "  /spec/replicas: 3 → 5\n"
        "Change it in the Git repository of that application instead."
    ) in denied.stderr
    assert guard.cluster.get("deployment/web", "-n", namespace)["spec"]["replicas"] == 3


def test_an_edit_of_argocds_deployment_is_denied(
    guard: Guard, argocd_account: Caller, namespace: str
) -> None:
    deploy(argocd_account, by_argocd(deployment("web", namespace), "shop"))
    denied = guard.cluster.as_("developer").kubectl(
        "edit", "deployment/web", "-n", namespace, editor=MORE_REPLICAS, check=False
    )
    assert denied.returncode == 1
    assert f"Deployment {namespace}/web is managed by Argo CD Application shop" in denied.stderr


def test_removal_of_the_marks_of_an_object_is_denied(
    guard: Guard, flux_account: Caller, namespace: str
) -> None:
    deploy(flux_account, by_flux(deployment("web", namespace), "shop"))
    denied = guard.cluster.as_("developer").kubectl(
        "label",
        "deployment/web",
        "-n",
        namespace,
        "kustomize.toolkit.fluxcd.io/name-",
        "kustomize.toolkit.fluxcd.io/namespace-",
        check=False,
    )
    marks = f"the marks on Deployment {namespace}/web are for Flux Kustomization flux-system/shop"
    assert f"{marks} to change; this direct write is refused." in denied.stderr


@pytest.mark.usefixtures("guard")
def test_controller_of_the_owner_can_write(
    cluster: ControlPlane, flux_account: Caller, namespace: str
) -> None:
    deploy(flux_account, by_flux(deployment("web", namespace), "shop"))
    deploy(flux_account, by_flux(deployment("web", namespace, replicas=4), "shop"))
    assert cluster.get("deployment/web", "-n", namespace)["spec"]["replicas"] == 4


def test_denied_write_is_recorded_and_its_audit_event_names_the_record(
    guard: Guard, flux_account: Caller, namespace: str
) -> None:
    deploy(flux_account, by_flux(deployment("web", namespace), "shop"))
    guard.cluster.as_("developer").kubectl("delete", "deployment/web", "-n", namespace, check=False)
    with closing(open_ledger(guard.ledger)) as ledger:
        [sealed] = ledger.ask(Question(namespace=namespace))
    [record] = guard.records_in(namespace)
    assert (record.verdict, record.actor, record.operation) == ("deny", "developer", "DELETE")
    assert (record.engine, record.app, record.app_namespace) == ("flux", "shop", "flux-system")
    [event] = [
        event
        for event in guard.cluster.audit_events()
        if event["verb"] == "delete" and event["objectRef"].get("namespace") == namespace
    ]
    assert event["annotations"]["guard.glasswarden.io/record"] == record.id
    assert event["annotations"]["guard.glasswarden.io/chain"] == sealed.digest


def test_dry_run_is_warned_and_not_recorded(
    guard: Guard, flux_account: Caller, namespace: str
) -> None:
    deploy(flux_account, by_flux(deployment("web", namespace), "shop"))
    done = guard.cluster.as_("developer").kubectl(
        "set",
        "image",
        "deployment/web",
        "app=registry.example/web:2",
        "-n",
        namespace,
        "--dry-run=server",
    )
    assert done.stderr == (
        f"Warning: Deployment {namespace}/web is managed by Flux Kustomization flux-system/shop; "
        "this direct write would be refused.\n"
        "Warning:   /spec/template/spec/containers[name=app]/image: "
        '"registry.example/web:1.4.2" → "registry.example/web:2"\n'
        "Warning: Change it in the Git repository of that application instead.\n"
        "Warning: Nobody may break the glass here: the policy has no rule for it.\n"
    )
    assert guard.records_in(namespace) == []


def test_values_of_a_secret_are_in_neither_denial_nor_ledger(
    guard: Guard, flux_account: Caller, namespace: str
) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": namespace},
        "stringData": {"token": "before-4711"},
    }
    deploy(flux_account, by_flux(secret, "shop"))
    denied = guard.cluster.as_("developer").kubectl(
        "patch",
        "secret/token",
        "-n",
        namespace,
        "-p",
        '{"stringData": {"token": "after-0815"}}',
        check=False,
    )
    assert "/data/token: (hidden)" in denied.stderr
    ledger = b"".join(path.read_bytes() for path in guard.ledger_files())
    for value in (b"YmVmb3JlLTQ3MTE", b"YWZ0ZXItMDgxNQ", b"before-4711", b"after-0815"):
        assert value not in ledger
