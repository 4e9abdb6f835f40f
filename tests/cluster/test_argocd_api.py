"""What the real Argo CD sees, through its API; and who edits objects in its web UI."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import urllib3
from click.testing import CliRunner

from glasswarden.cli.main import main
from tests.cluster.argocd import APPLICATION, NAMESPACE, PERSON, Application, ArgoCD
from tests.cluster.controlplane import ControlPlane
from tests.cluster.gitrepository import GitRepository
from tests.cluster.retries import eventually
from tests.cluster.test_gitops import deployment

IMAGE = "/spec/template/spec/containers[name=web]/image"


class Shop:
    """An application of Argo CD's that does not heal itself."""

    def __init__(self, cluster: ControlPlane, argocd: ArgoCD, deployed: Application) -> None:
        self.cluster, self.argocd, self.deployed = cluster, argocd, deployed
        self.namespace = deployed.name

    def kubectl(self, *arguments: str) -> None:
        self.cluster.as_("developer").kubectl(*arguments, "-n", self.namespace)

    def edit_in_web_ui(self, patch: dict[str, Any]) -> None:
        """Patch the Deployment as Argo CD's own page does, signed in."""
        query = {
            "name": self.deployed.name,
            "appNamespace": NAMESPACE,
            "namespace": self.namespace,
            "resourceName": "web",
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "patchType": "application/strategic-merge-patch+json",
        }
        url = f"{self.argocd.server}/api/v1/applications/{self.deployed.name}/resource"
        headers = {"Authorization": f"Bearer {self.argocd.login()}"}
        answer = urllib3.request(
            "POST", f"{url}?{urlencode(query)}", json=json.dumps(patch), headers=headers
        )
        assert answer.status == 200, answer.data

    def drift(self, *words: str, token: str = "") -> Any:  # noqa: ANN401 - JSON
        """Return what `glasswarden drift --argocd` says, for programs."""
        command = ["drift", "--argocd", self.argocd.server, "--app", self.deployed.name]
        where = ["--kubeconfig", str(self.cluster.kubeconfig("admin")), "--format", "json"]
        env = {"ARGOCD_AUTH_TOKEN": token}
        result = CliRunner().invoke(main, [*command, *where, *words], env=env)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    def sees(self, *fields: str) -> Any:  # noqa: ANN401 - JSON
        """Return what is told once Argo CD sees that *fields* differ, and no others."""

        def told() -> bool:
            self.deployed.sync()
            return sorted(each["field"] for each in self.drift()["findings"]) == sorted(fields)

        eventually(told, f"Argo CD to see {fields}")
        return self.drift()["findings"]


@pytest.fixture
def shop(
    cluster: ControlPlane, argocd: ArgoCD, git_repository: GitRepository, namespace: str
) -> Iterator[Shop]:
    files: dict[str, str | None] = {
        "shop/web.yaml": deployment("registry.example/web:1"),
        "shop/db.yaml": json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "db"},
                "stringData": {"password": "swordfish"},
            }
        ),
    }
    revision = git_repository.commit(files, "first")
    with argocd.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(revision)
        set_spec(cluster, deployed, {"syncPolicy": None})
        yield Shop(cluster, argocd, deployed)


def set_spec(cluster: ControlPlane, deployed: Application, spec: dict[str, Any]) -> None:
    patch = json.dumps({"spec": spec})
    admin = cluster.as_("admin")
    admin.kubectl("patch", APPLICATION, deployed.name, "-n", NAMESPACE, "--type=merge", "-p", patch)


def test_each_field_that_argocd_sees_is_a_finding_with_its_manager(shop: Shop) -> None:
    shop.kubectl("set", "image", "deployment/web", "web=registry.example/web:by-hand")
    shop.kubectl("scale", "deployment/web", "--replicas=4")
    replicas, image = sorted(
        shop.sees("/spec/replicas", IMAGE), key=lambda each: str(each["field"])
    )
    assert (replicas["declared"], replicas["live"], replicas["source"]) == (1, 4, "argocd-api")
    assert (image["declared"], image["live"]) == (
        "registry.example/web:1",
        "registry.example/web:by-hand",
    )
    assert (image["class"], image["cause"]) == ("desired-configuration", "person")
    assert image["since"]


def test_field_in_ignore_differences_is_no_finding(shop: Shop) -> None:
    pointers = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
    set_spec(shop.cluster, shop.deployed, {"ignoreDifferences": [pointers]})
    shop.kubectl("scale", "deployment/web", "--replicas=4")
    shop.kubectl("set", "image", "deployment/web", "web=registry.example/web:by-hand")
    shop.sees(IMAGE)


def test_values_of_secrets_are_hidden_and_missing_objects_are_findings(shop: Shop) -> None:
    shop.kubectl("patch", "secret/db", "-p", '{"stringData": {"password": "letmein"}}')
    [secret] = shop.sees("/data/password")
    assert (secret["declared"], secret["live"]) == ("(hidden)", "(hidden)")
    shop.kubectl("delete", "secret/db")
    [missing] = shop.sees("/")
    assert (missing["object"]["kind"], missing["live"]) == ("Secret", None)


def test_field_seen_by_argocd_and_git_is_listed_once(
    shop: Shop, git_repository: GitRepository
) -> None:
    shop.kubectl("set", "image", "deployment/web", "web=registry.example/web:by-hand")
    shop.sees(IMAGE)
    where = ("--git", str(git_repository.folder), "--path", "shop", "-n", shop.namespace)
    found = shop.drift(*where)["findings"]
    assert [(each["field"], each["source"]) for each in found] == [(IMAGE, "git")]


def test_person_who_edits_in_the_web_ui_is_named(shop: Shop) -> None:
    container = {"name": "web", "image": "registry.example/web:ui"}
    shop.edit_in_web_ui({"spec": {"template": {"spec": {"containers": [container]}}}})
    [image] = shop.sees(IMAGE)
    assert image["behind"] == PERSON
    assert f"for {PERSON} as it says" in image["reason"]


def test_applications_of_other_clusters_only_are_reported_as_incomplete(shop: Shop) -> None:
    said = shop.drift("--argocd-cluster", "elsewhere")
    assert said["findings"] == []
    assert said["incomplete"] == [
        {
            "what": "Applications",
            "why": "they deploy to https://kubernetes.default.svc: say --argocd-cluster if that is "
            "this cluster",
        }
    ]


def test_unreachable_argocd_is_reported_in_a_sentence(shop: Shop) -> None:
    where = ("--kubeconfig", str(shop.cluster.kubeconfig("admin")))
    result = CliRunner().invoke(main, ["drift", "--argocd", "http://127.0.0.1:1", *where])
    assert result.exit_code == 2
    assert "did not answer" in result.stderr


class TestWithoutArgoCDApi:
    """`--argocd core`: by the Applications, and by what was applied last."""

    def test_fields_of_objects_out_of_sync_are_findings(self, shop: Shop) -> None:
        shop.kubectl("set", "image", "deployment/web", "web=registry.example/web:by-hand")
        shop.kubectl("delete", "secret/db")
        shop.sees("/", IMAGE)
        found = shop.drift("--argocd", "core")["findings"]
        assert {(each["object"]["name"], each["field"]) for each in found} == {
            ("web", IMAGE),
            ("db", "/"),
        }
        assert {each["source"] for each in found} == {"argocd-core"}

    def test_object_applied_server_side_is_one_finding(self, shop: Shop) -> None:
        shop.kubectl("set", "image", "deployment/web", "web=registry.example/web:by-hand")
        name = "kubectl.kubernetes.io/last-applied-configuration"
        shop.kubectl("annotate", "deployment/web", f"{name}-")
        shop.sees(IMAGE)
        [finding] = shop.drift("--argocd", "core")["findings"]
        assert (finding["field"], finding["declared"], finding["live"]) == (
            "/",
            "Synced",
            "OutOfSync",
        )
