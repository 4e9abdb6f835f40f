"""The real Flux and the real Argo CD leave a fix alone while its grant is open, and never fail."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.cluster.argocd import ArgoCD
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import GitRepository
from tests.cluster.guard import Guard, guarding
from tests.cluster.mending import (
    FIRST,
    HOTFIX,
    POLICY,
    PREFIX,
    SECOND,
    Scene,
    deployed_by,
    in_git,
    is_healed,
    is_marked,
    is_mended,
)
from tests.cluster.retries import eventually
from tests.cluster.test_gitops import image_of

pytestmark = pytest.mark.gitops

SET_IMAGE: Final = ("set", "image", "deployment/web", f"web={HOTFIX}")


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("guard"), POLICY) as running:
        yield running


@pytest.fixture
def scene(
    engine: Flux | ArgoCD, guard: Guard, git_repository: GitRepository, namespace: str
) -> Iterator[Scene]:
    with deployed_by(engine, guard.cluster, git_repository, namespace) as deployed:
        yield deployed


def test_held_fix_survives_reconciliation_until_the_grant_ends(
    scene: Scene,
) -> None:
    assert "is managed by" in scene.kubectl(*SET_IMAGE, check=False)
    before = scene.failures()
    scene.break_glass()
    scene.mend()

    def nothing_is_lost() -> None:
        assert is_mended(scene.live())
        scene.assert_content()

    scene.wait_for_tries(3, nothing_is_lost)
    scene.commit(in_git(SECOND, minReadySeconds=7))
    eventually(
        lambda: scene.live()["spec"].get("minReadySeconds") == 7, "the rest to come from Git"
    )
    scene.wait_for_tries(2, nothing_is_lost)

    scene.let_expire()
    eventually(lambda: is_healed(scene, SECOND), "the reconciler to heal", seconds=90)
    scene.deployed.wait_synced(scene.repository.head)
    assert scene.failures() == before


def test_changes_in_git_arrive_after_the_fix_was_backported(scene: Scene) -> None:
    scene.break_glass()
    scene.kubectl(*SET_IMAGE)
    scene.kubectl("scale", "deployment/web", "--replicas=4")
    scene.wait_for_tries(2, scene.assert_content)
    # Argo CD applies nothing to an object that is as Git has it: something else changes with it.
    backported = scene.commit(in_git(HOTFIX, replicas=4, minReadySeconds=7))
    scene.deployed.wait_synced(backported)
    scene.commit(in_git(SECOND, replicas=2, minReadySeconds=7))

    def arrived() -> bool:
        live = scene.live()
        return (image_of(live), live["spec"]["replicas"]) == (SECOND, 2)

    eventually(arrived, "the next version to arrive")
    assert is_marked(scene.live())


def test_prune_is_denied_until_the_grant_ends(scene: Scene, guard: Guard) -> None:
    scene.break_glass()
    scene.kubectl(*SET_IMAGE)
    scene.commit(None)

    def refusals() -> list[str]:
        records = guard.records_in(scene.namespace)
        return [each.verdict for each in records if each.clause == "held"]

    assert eventually(refusals, "the prune to be refused", seconds=60)[0] == "deny"
    assert image_of(scene.live()) == HOTFIX
    scene.kubectl("annotate", "deployment/web", f"{PREFIX}/reason-")
    scene.deployed.sync()

    def pruned() -> bool:
        found = scene.cluster.get("deployment", "-n", scene.namespace)
        return not found["items"]

    eventually(pruned, "the prune", seconds=90)


def test_rule_without_hold_lets_the_reconciler_undo_the_fix(scene: Scene) -> None:
    scene.break_glass(who="lead")
    scene.kubectl(*SET_IMAGE, who="lead")
    eventually(lambda: image_of(scene.live()) != HOTFIX, "the change to be undone")
    assert is_marked(scene.live())
    scene.assert_content()


def test_a_grant_on_the_namespace_holds_a_scale_until_it_is_closed(scene: Scene) -> None:
    scene.break_glass(f"namespace/{scene.namespace}")
    scene.kubectl("scale", "deployment/web", "--replicas=4")
    scene.kubectl(*SET_IMAGE)

    def nothing_is_lost() -> None:
        live = scene.live()
        assert (live["spec"]["replicas"], image_of(live)) == (4, HOTFIX)
        scene.assert_content()

    scene.wait_for_tries(3, nothing_is_lost)
    scene.kubectl("annotate", f"namespace/{scene.namespace}", f"{PREFIX}/reason-")
    eventually(lambda: is_healed(scene, FIRST), "the reconciler to heal", seconds=90)
