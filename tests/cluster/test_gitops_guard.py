"""With the guard in force, the real Flux and Argo CD go on reconciling while a person is denied."""

from collections.abc import Iterator

import pytest

from tests.cluster.argocd import ArgoCD
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import GitRepository
from tests.cluster.guard import Guard, guarding
from tests.cluster.patience import eventually
from tests.cluster.test_gitops import deployment, image_of


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    role = "cluster-admin"  # the test's shortcut to Flux's and Argo CD's own objects
    with guarding(cluster, tmp_path_factory.mktemp("guard"), role=role) as running:
        yield running


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
        for record in guard.records()
        if (record.name, record.actor) == (namespace, "developer")
    ]
    assert (record.verdict, record.mode, record.kind) == ("allow", "warn", "Kustomization")
    assert [change.path for change in record.changes] == ["/spec/suspend"]


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
