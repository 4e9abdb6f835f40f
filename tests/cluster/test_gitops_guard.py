"""With the guard in force, the real Flux and Argo CD go on reconciling while a person is denied."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from glasswarden.ledger.record import Attempt
from tests.cluster.argocd import PERSON, Application, ArgoCD
from tests.cluster.build import programs
from tests.cluster.catalogue import FLUX
from tests.cluster.conftest import skip_unless_built
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import GitRepository
from tests.cluster.guard import Guard, guarding
from tests.cluster.retries import eventually
from tests.cluster.test_gitops import deployment, image_of


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    role = "cluster-admin"  # the test's shortcut to Flux's and Argo CD's own objects
    with guarding(cluster, tmp_path_factory.mktemp("guard"), role=role) as running:
        yield running


@dataclass(frozen=True, slots=True)
class Steered:
    """An Application, and what is recorded of the hands on it."""

    guard: Guard
    argocd: ArgoCD
    deployed: Application

    def run(self, *words: str) -> None:
        self.argocd.command(*(self.deployed.name if word == "NAME" else word for word in words))

    def records(self) -> list[Attempt]:
        """Return what is recorded of the Application, but for how the test itself made it."""
        return [
            record
            for record in self.guard.records()
            if (record.kind, record.name) == ("Application", self.deployed.name)
            and record.operation == "UPDATE"
        ]


IGNORING = json.dumps(
    {"spec": {"ignoreDifferences": [{"kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]}}
)


@pytest.fixture(scope="session")
def flux_program() -> Path:
    skip_unless_built(FLUX)
    return programs([FLUX])["flux"]


BY_HAND = ("set", "image", "deployment/web", "web=registry.example/web:by-hand")


def test_flux_reconciles_and_a_person_is_denied(
    guard: Guard, flux: Flux, git_repository: GitRepository, namespace: str
) -> None:
    cluster = guard.cluster
    first = git_repository.commit({"shop/web.yaml": deployment("registry.example/web:1")}, "first")
    with flux.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        developer = cluster.as_("developer")
        denied = developer.kubectl(*BY_HAND, "-n", namespace, check=False)
        assert f"is managed by Flux Kustomization flux-system/{namespace}" in denied.stderr
        second = git_repository.commit({"shop/web.yaml": deployment("registry.example/web:2")}, "2")
        deployed.wait_synced(second)
        assert image_of(cluster.get("deployment/web", "-n", namespace)).endswith("web:2")
        # By now the repository has been looked up in the background.
        again = eventually(
            lambda: (
                git_repository.url
                in developer.kubectl(*BY_HAND, "-n", namespace, check=False).stderr
            ),
            "the denial to name the repository",
        )
        assert again
        assert {record.actor for record in guard.records_in(namespace)} == {"developer"}


def test_suspending_fluxs_kustomization_is_warned_about_and_recorded(
    guard: Guard, flux: Flux, git_repository: GitRepository, namespace: str
) -> None:
    first = git_repository.commit({"shop/web.yaml": deployment("registry.example/web:1")}, "first")
    with flux.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        name = f"kustomization.kustomize.toolkit.fluxcd.io/{namespace}"
        developer = guard.cluster.as_("developer")
        suspended = developer.kubectl(
            "patch", name, "-n", "flux-system", "--type=merge", "-p", '{"spec": {"suspend": true}}'
        )
        assert f"Warning: Kustomization flux-system/{namespace} tells Flux what to do" in (
            suspended.stderr
        )
        asked = ("annotate", name, "-n", "flux-system", "reconcile.fluxcd.io/requestedAt=now")
        assert "Warning" not in developer.kubectl(*asked, "--overwrite").stderr
    [record] = [
        record
        for record in guard.writes()
        if (record.name, record.actor) == (namespace, "developer")
    ]
    assert (record.verdict, record.mode, record.kind) == ("allow", "warn", "Kustomization")
    assert [change.path for change in record.changes] == ["/spec/suspend"]


def test_suspend_and_resume_by_the_flux_command_are_recorded(
    guard: Guard, flux: Flux, flux_program: Path, git_repository: GitRepository, namespace: str
) -> None:
    first = git_repository.commit({"shop/web.yaml": deployment("registry.example/web:1")}, "first")
    with flux.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        for verb in ("suspend", "resume"):
            subprocess.run(
                [flux_program, verb, "kustomization", namespace, "-n", "flux-system"],
                env=guard.cluster.as_("developer").environment(),
                check=True,
                capture_output=True,
            )
    records = [
        record
        for record in guard.records()
        if (record.name, record.operation) == (namespace, "UPDATE")
    ]
    assert {record.actor for record in records} == {"developer"}
    assert {each.path for record in records for each in record.changes} == {"/spec/suspend"}


SERVER = "system:serviceaccount:argocd:argocd-server"


@pytest.fixture
def shop(
    guard: Guard, argocd: ArgoCD, git_repository: GitRepository, namespace: str
) -> Iterator[Steered]:
    files: dict[str, str | None] = {"shop/web.yaml": deployment("registry.example/web:1")}
    first = git_repository.commit(files, "first")
    with argocd.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        yield Steered(guard, argocd, deployed)


STEERED = {
    "pinned": (("app", "set", "NAME", "--revision", "HEAD"), "/spec/source/targetRevision"),
    "healing off": (
        ("app", "set", "NAME", "--self-heal=false"),
        "/spec/syncPolicy/automated/selfHeal",
    ),
    "no longer automatic": (("app", "set", "NAME", "--sync-policy", "none"), "/spec/syncPolicy"),
    "a rule to ignore": (
        ("app", "patch", "NAME", "--type", "merge", "--patch", IGNORING),
        "/spec/ignoreDifferences",
    ),
}


@pytest.mark.parametrize(("command", "path"), STEERED.values(), ids=STEERED)
def test_changes_of_an_application_by_the_argocd_command_are_recorded(
    shop: Steered, command: tuple[str, ...], path: str
) -> None:
    """Whichever program is between."""
    shop.run(*command)
    record, *_ = shop.records()  # the API server may have asked twice
    assert (record.actor, record.verdict, record.mode) == (SERVER, "allow", "warn")
    assert [change.path for change in record.changes if change.path.startswith(path)]


def test_argocd_sync_is_recorded_only_to_another_revision(
    shop: Steered, git_repository: GitRepository
) -> None:
    shop.run("app", "sync", "NAME", "--async")
    assert shop.records() == []
    # Argo CD itself refuses another revision while it syncs by itself.
    shop.run("app", "set", "NAME", "--sync-policy", "none")
    other = git_repository.commit({"shop/web.yaml": deployment("registry.example/web:2")}, "2")
    first = git_repository.commit({"shop/web.yaml": deployment("registry.example/web:3")}, "3")
    assert first != other
    shop.run("app", "sync", "NAME", "--async", "--revision", other)
    *_, sync = shop.records()
    [operation] = [change for change in sync.changes if change.path == "/operation"]
    # The only place in which the API server is told who it was.
    assert operation.new["initiatedBy"] == {"username": PERSON}
    assert operation.new["sync"]["revision"] == other


def test_argocd_reconciles_and_a_person_is_denied(
    guard: Guard, argocd: ArgoCD, git_repository: GitRepository, namespace: str
) -> None:
    cluster = guard.cluster
    first = git_repository.commit({"shop/web.yaml": deployment("registry.example/web:1")}, "first")
    with argocd.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        denied = cluster.as_("developer").kubectl(*BY_HAND, "-n", namespace, check=False)
        assert f"is managed by Argo CD Application {namespace}" in denied.stderr
        second = git_repository.commit({"shop/web.yaml": deployment("registry.example/web:2")}, "2")
        deployed.wait_synced(second)
        assert image_of(cluster.get("deployment/web", "-n", namespace)).endswith("web:2")
        assert {record.actor for record in guard.records_in(namespace)} == {"developer"}
