"""The webhook becomes unavailable during a hold, with a registration of its own."""

from contextlib import ExitStack
from pathlib import Path

from tests.cluster.argocd import ArgoCD
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import GitRepository
from tests.cluster.guard import registered, serving
from tests.cluster.mending import POLICY, SECOND, deployed_by, in_git, is_mended
from tests.cluster.retries import eventually
from tests.cluster.test_gitops import image_of


def test_unavailable_webhook_loses_the_hold_and_stops_no_reconciler(
    engine: Flux | ArgoCD,
    cluster: ControlPlane,
    git_repository: GitRepository,
    namespace: str,
    tmp_path: Path,
) -> None:
    with (
        deployed_by(engine, cluster, git_repository, namespace) as scene,
        ExitStack() as registration,
    ):
        with serving(cluster, tmp_path, POLICY) as guard:
            authority = guard.certificates.authority
            registration.enter_context(registered(cluster, guard.url, authority, guard.policy))
            scene.break_glass()
            scene.mend()
            scene.wait_for_tries(2, scene.assert_content)
            assert is_mended(scene.live())
        # No nudge: that is a person's write to the reconciler's own object, which is guarded.
        scene.commit(in_git(SECOND), nudge=False)
        eventually(lambda: image_of(scene.live()) == SECOND, "Git to be obeyed", seconds=90)
        scene.assert_content()
