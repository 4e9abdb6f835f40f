"""A policy that lists rollout-undo as benign allows the real undo, and nothing that applies."""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller
from tests.cluster.retries import eventually

REVISION = "deployment.kubernetes.io/revision"
WEB = "deployment/web"


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    policy = "benign: [rollout-undo]"
    with guarding(cluster, tmp_path_factory.mktemp("guard"), policy) as running:
        yield running


@pytest.fixture
def shop(guard: Guard, flux_account: Caller, namespace: str) -> str:
    """Return a namespace in which Flux has deployed `web` twice."""
    for revision in ("1", "2"):
        manifest = by_flux(deployment("web", namespace), "shop")
        [container] = manifest["spec"]["template"]["spec"]["containers"]
        container["image"] = f"registry.example/web:{revision}"
        flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
        eventually(partial(is_rolled_out, guard, namespace, revision), f"revision {revision}")
    return namespace


def is_rolled_out(guard: Guard, namespace: str, revision: str) -> bool:
    metadata = guard.cluster.get(WEB, "-n", namespace)["metadata"]
    return bool(metadata.get("annotations", {}).get(REVISION) == revision)


def test_benign_rollout_undo_is_allowed_and_recorded(guard: Guard, shop: str) -> None:
    guard.cluster.as_("developer").kubectl("rollout", "undo", WEB, "-n", shop)
    [record] = guard.records_in(shop)
    assert (record.verdict, record.clause) == ("allow", "benign")


def test_apply_with_the_manager_name_of_an_undo_is_denied(guard: Guard, shop: str) -> None:
    manifest = by_flux(deployment("web", shop), "shop")
    [container] = manifest["spec"]["template"]["spec"]["containers"]
    container["image"] = "registry.example/web:3"
    words = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    denied = guard.cluster.as_("developer").kubectl(*words, stdin=manifest, check=False)
    assert "is managed by Flux" in denied.stderr
    [record] = guard.records_in(shop)
    assert (record.manager, record.manager_operation) == ("kubectl", "Apply")
