"""`glasswarden drift --ledger` alone, on the real API server: writes that are still live."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from glasswarden.cli.main import main
from tests.cluster.applications import Manifest, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller, Result, replace
from tests.cluster.retries import eventually

POLICY = """
cluster: test
mode: audit
reservedNamespaces: [test-*]
breakGlass:
  rules:
    - name: responders
      groups: [oncall]
      ticket: INC-[0-9]+
      ttl: {default: 30m, longest: 4h}
"""
CONTAINER = "/spec/template/spec/containers[name=app]"
IMAGE = f"{CONTAINER}/image"


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    """Return a guard that lets everything in and records it."""
    with guarding(cluster, tmp_path_factory.mktemp("guard"), POLICY) as running:
        yield running


class Shop:
    """Flux's Deployment web in a namespace of its own, and what people do to it."""

    def __init__(self, guard: Guard, flux: Caller, namespace: str) -> None:
        self.guard, self.flux, self.namespace = guard, flux, namespace

    def apply(self, *manifests: Manifest) -> None:
        """Have Flux apply *manifests*."""
        command = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        for each in manifests:
            self.flux.kubectl(
                *command, "--field-manager=kustomize-controller", stdin=by_flux(each, "shop")
            )

    def kubectl(self, *arguments: str, person: str = "developer", **more: Any) -> Result:  # noqa: ANN401
        return self.guard.cluster.as_(person).kubectl(*arguments, "-n", self.namespace, **more)

    def drift(self, *words: str, person: str = "developer", **options: Any) -> Any:  # noqa: ANN401
        """Return what `glasswarden drift --ledger` says of the namespace, for programs."""
        given = {
            "ledger": self.guard.ledger,
            "keys": self.guard.keys,
            "kubeconfig": self.guard.cluster.kubeconfig(person),
            "namespace": self.namespace,
            "format": "json",
            **options,
        }
        flags = [f"--{name}={value}" for name, value in given.items() if value is not None]
        result = CliRunner().invoke(main, ["drift", *flags, *words], catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    def found(self, *words: str, **options: Any) -> list[tuple[str, str, Any, Any]]:  # noqa: ANN401
        """Return name, field, declared and live value of each finding; nothing was left out."""
        said = self.drift(*words, **options)
        assert said["incomplete"] == []
        return [
            (each["object"]["name"], each["field"], each["declared"], each["live"])
            for each in said["findings"]
        ]


@pytest.fixture
def shop(guard: Guard, flux_account: Caller, namespace: str) -> Shop:
    made = Shop(guard, flux_account, namespace)
    made.apply(deployment("web", namespace))

    def recorded() -> bool:
        made.kubectl("label", "deployment/web", "probe=1", "--overwrite", person="lead")
        made.kubectl("label", "deployment/web", "probe-", person="lead")
        return bool(guard.records_in(namespace))

    eventually(recorded, "the webhook's registration")
    return made


def test_edit_is_a_finding_until_the_owner_reverts_it(shop: Shop) -> None:
    assert shop.found() == []
    shop.kubectl("set", "image", "deployment/web", "app=registry.example/web:hotfix")
    shop.kubectl("set", "env", "deployment/web", "DEBUG=1")
    shop.kubectl("scale", "deployment/web", "--replicas=5")
    assert shop.found() == [
        ("web", "/spec/replicas", 3, 5),
        ("web", f"{CONTAINER}/env[name=DEBUG]", None, {"name": "DEBUG", "value": "1"}),
        ("web", IMAGE, "registry.example/web:1.4.2", "registry.example/web:hotfix"),
    ]
    shop.apply(deployment("web", shop.namespace))
    assert shop.found() == [
        ("web", f"{CONTAINER}/env[name=DEBUG]", None, {"name": "DEBUG", "value": "1"})
    ]


def test_finding_names_actor_class_and_response(shop: Shop) -> None:
    shop.kubectl("set", "image", "deployment/web", "app=registry.example/web:hotfix")
    [finding] = shop.drift()["findings"]
    assert finding["object"]["uid"]
    assert (finding["source"], finding["link"]["actor"]) == ("ledger", "developer")
    assert (finding["class"], finding["cause"]) == ("desired-configuration", "person")
    assert finding["response"] == "auto-heal"
    assert finding["suggestion"].startswith(
        "kubectl annotate --overwrite kustomization.kustomize.toolkit.fluxcd.io/shop"
    )


def test_change_that_git_has_adopted_is_no_finding(shop: Shop) -> None:
    shop.kubectl("scale", "deployment/web", "--replicas=5")
    shop.apply(deployment("web", shop.namespace, replicas=5))
    assert shop.found() == []


def test_field_changed_twice_is_compared_with_the_value_of_the_owner(shop: Shop) -> None:
    shop.kubectl("edit", "deployment/web", editor=replace("replicas: 3", "replicas: 4"))
    shop.kubectl("scale", "deployment/web", "--replicas=6")
    assert shop.found() == [("web", "/spec/replicas", 3, 6)]
    shop.kubectl("scale", "deployment/web", "--replicas=3")
    assert shop.found() == []


def test_change_under_a_grant_is_to_be_backported(shop: Shop) -> None:
    asked = {"reason": "checkout is down for everybody", "ticket": "INC-42"}
    words = [f"breakglass.glasswarden.io/{name}={text}" for name, text in asked.items()]
    shop.kubectl("annotate", "deployment/web", *words, person="responder")
    shop.kubectl("scale", "deployment/web", "--replicas=9", person="responder")
    # The owner applies, and is made to keep what it did not choose.
    shop.apply(deployment("web", shop.namespace))
    [finding] = shop.drift()["findings"]
    assert (finding["field"], finding["live"], finding["response"]) == (
        "/spec/replicas",
        9,
        "backport",
    )
    assert "glasswarden backport --ticket INC-42" in finding["suggestion"]


class TestWholeObjects:
    def test_deleted_object_is_missing_until_it_is_recreated(self, shop: Shop) -> None:
        shop.kubectl("delete", "deployment/web")
        assert shop.found() == [("web", "/", "(not known)", None)]
        shop.apply(deployment("web", shop.namespace))
        assert shop.found() == []

    def test_writes_to_a_deleted_object_do_not_count_for_its_successor(self, shop: Shop) -> None:
        shop.kubectl("scale", "deployment/web", "--replicas=5")
        shop.kubectl("delete", "deployment/web")
        shop.apply(deployment("web", shop.namespace, replicas=5))
        assert shop.found() == []

    def test_object_created_by_hand_is_an_orphan(self, shop: Shop) -> None:
        shop.kubectl("create", "configmap", "by-hand", "--from-literal=a=1")
        [finding] = shop.drift()["findings"]
        assert (finding["object"]["name"], finding["field"]) == ("by-hand", "/")
        assert (finding["class"], finding["response"]) == ("orphan", "escalate")

    def test_object_waiting_for_a_finalizer_is_being_deleted(self, shop: Shop) -> None:
        manifest = deployment("web", shop.namespace)
        manifest["metadata"]["finalizers"] = ["example.com/wait"]
        shop.apply(manifest)
        shop.kubectl("delete", "deployment/web", "--wait=false")
        try:
            [finding] = shop.drift()["findings"]
            assert finding["field"] == "/metadata/deletionTimestamp"
        finally:
            patch = '{"metadata": {"finalizers": null}}'
            shop.kubectl("patch", "deployment/web", "--type=merge", "-p", patch, person="admin")


def test_dry_run_is_no_finding(shop: Shop) -> None:
    shop.kubectl("scale", "deployment/web", "--replicas=5", "--dry-run=server")
    assert shop.found() == []


def test_values_of_secrets_are_compared_and_hidden(shop: Shop) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db", "namespace": shop.namespace},
        "data": {"password": "c3dvcmRmaXNo"},
    }
    shop.apply(secret)
    patch = '{"stringData": {"password": "letmein"}}'
    shop.kubectl("patch", "secret/db", "-p", patch)
    found = shop.found()
    assert found == [("db", "/data/password", "(hidden)", "(hidden)")]
    unable = shop.drift(keys=None)
    assert unable["findings"] == []
    assert "cannot be compared" in unable["incomplete"][0]["why"]


def test_kinds_without_read_access_are_reported_as_incomplete(shop: Shop) -> None:
    shop.kubectl("scale", "deployment/web", "--replicas=5")
    account = shop.guard.cluster.service_account("default", "without-rights", None)
    said = shop.drift(kubeconfig=account.kubeconfig)
    assert said["findings"] == []
    assert said["incomplete"] == [
        {"what": "direct writes to 1 of Deployment (apps/v1)", "why": "no right to read it"}
    ]


def test_ledger_of_another_cluster_is_reported_as_incomplete(shop: Shop) -> None:
    shop.kubectl("scale", "deployment/web", "--replicas=5")
    said = shop.drift(cluster="elsewhere")
    assert said["findings"] == []
    assert "holds no records of the cluster 'elsewhere'" in said["incomplete"][0]["why"]


def test_field_in_git_and_ledger_is_listed_once_with_the_value_of_git(
    shop: Shop, tmp_path: Path
) -> None:
    git = tmp_path / "git"
    git.mkdir()
    manifest = deployment("web", shop.namespace)
    (git / "web.json").write_text(json.dumps(manifest))
    shop.kubectl("scale", "deployment/web", "--replicas=5")
    # Its writer wipes the trace that the detector goes by; the ledger still knows.
    shop.kubectl("annotate", "deployment/web", "example.com/note=hot")
    wipe = '[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]'
    shop.kubectl("patch", "deployment/web", "--type=json", "-p", wipe)
    said = shop.drift(git=git)
    assert {(each["field"], each["source"], each["declared"]) for each in said["findings"]} == {
        ("/spec/replicas", "git", 3),
        ("/metadata/annotations/example.com~1note", "ledger", None),
    }
    manifest["spec"]["replicas"] = 5
    (git / "web.json").write_text(json.dumps(manifest))
    assert [each["source"] for each in shop.drift(git=git)["findings"]] == ["ledger"]
