"""The API server restarts, or the connection to it dies: cached objects are not trusted too long.

On a control plane of its own: everybody else's would have to sit through this.
"""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

import pytest

from glasswarden.cluster.client import BRIEF, WATCH_IDLE_SECONDS
from tests.chaos import Note
from tests.cluster.chaos.balancer import Balancer
from tests.cluster.chaos.stand import Stand, deploy, kubeconfig_through, new_stand
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Caller
from tests.cluster.retries import eventually

SETTLING_SECONDS = 5
BOUND_SECONDS = WATCH_IDLE_SECONDS + BRIEF.connect + 3
"""What docs/operate.md says: silence, a try to connect, and what kubectl takes to ask."""
MARKS = ("kustomize.toolkit.fluxcd.io/name-", "kustomize.toolkit.fluxcd.io/namespace-")


@pytest.fixture(scope="module")
def cluster(_programs: None) -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        yield running


@pytest.fixture
def flux_account(cluster: ControlPlane) -> Caller:
    return cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")


@pytest.fixture
def stand(cluster: ControlPlane, tmp_path: Path, flux_account: Caller, namespace: str) -> Stand:
    deploy(flux_account, namespace, "web")
    return new_stand(cluster, tmp_path)


def scale(stand: Stand, namespace: str) -> str:
    """Scale `web` as a developer; return why that was refused."""
    replicas = stand.cluster.get("deployment/web", "-n", namespace)["spec"]["replicas"] + 1
    done = stand.cluster.as_("developer").kubectl(
        "scale", "deployment/web", f"--replicas={replicas}", "-n", namespace, check=False
    )
    return done.stderr if done.returncode else ""


def unmark(flux_account: Caller, namespace: str) -> None:
    flux_account.kubectl("label", "deployment/web", "-n", namespace, *MARKS)


def test_watch_lists_anew_after_the_api_server_restarted(
    stand: Stand, flux_account: Caller, namespace: str, chaos: Note
) -> None:
    """The version to watch from is unknown to the new one (410 Gone): all is listed anew."""
    replica = stand.replica()
    with replica, stand.asked_at(replica.port):
        eventually(lambda: "is managed by Flux" in scale(stand, namespace), "the cache to be used")
        stand.cluster.restart_apiserver()
        unmark(flux_account, namespace)
        began = monotonic()
        eventually(lambda: scale(stand, namespace) == "", "the mark's absence to be seen")
        noticed = monotonic() - began
        deploy(flux_account, namespace, "web")
        began = monotonic()
        eventually(lambda: "is managed by Flux" in scale(stand, namespace), "the mark to be seen")
        seen = monotonic() - began
    chaos(
        "API server restarted (watches broken, 410 Gone)",
        mark_removed_seen_after_s=noticed,
        mark_set_seen_after_s=seen,
        watches_broken=len(replica.said("watch broken")),
    )
    assert replica.said("watch broken")


def test_cache_over_a_dead_connection_is_trusted_for_the_documented_bound_only(
    stand: Stand, flux_account: Caller, namespace: str, tmp_path: Path, chaos: Note
) -> None:
    """The connection of the watch dies without being closed."""
    server = urlsplit(stand.cluster.server).port or 0
    with Balancer() as line:
        line.add(server)
        through = kubeconfig_through(stand.account.kubeconfig, line.port, tmp_path / "line.json")
        # One worker: each has a cache of its own.
        replica = stand.replica("one", "--kubeconfig", through, "--workers", "1")
        with replica, stand.asked_at(replica.port):
            eventually(lambda: "is managed by Flux" in scale(stand, namespace), "a cached parent")
            # The first answer was read directly, and began the watch.
            sleep(SETTLING_SECONDS)
            assert replica.said("watch broken") == []
            line.dead = True
            unmark(flux_account, namespace)
            began = monotonic()
            # Without a cache the parent is read, which the dead line does not let: it fails open.
            patience = 2 * BOUND_SECONDS
            eventually(lambda: scale(stand, namespace) == "", "trust to end", seconds=patience)
            stale = monotonic() - began
            line.dead = False
            deploy(flux_account, namespace, "web")
            eventually(lambda: is_guarded_again(stand, namespace), "the cache to be back")
    chaos(
        "the webhook's watch dies without a word",
        documented_bound_s=BOUND_SECONDS,
        believed_for_s=stale,
    )
    assert stale <= BOUND_SECONDS


def is_guarded_again(stand: Stand, namespace: str) -> bool:
    return "is managed by Flux" in scale(stand, namespace)
