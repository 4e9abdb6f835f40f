"""The correlator's service follows grants on the real API server: metrics and Events."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.correlating import Correlator, start_correlator
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller
from tests.cluster.retries import eventually

# The grant has to end and the correlator to find it overdue, in real time.
pytestmark = pytest.mark.e2e

PREFIX = "breakglass.glasswarden.io/"
POLICY = """
breakGlass:
  rules:
    - {name: responders, groups: [oncall], ticket: "INC-[0-9]+"}
"""
ASK = {"reason": "checkout is down for everybody", "ticket": "INC-42", "ttl": "5s"}


@pytest.fixture
def guard(cluster: ControlPlane, tmp_path: Path) -> Iterator[Guard]:
    with guarding(cluster, tmp_path, POLICY) as running:
        yield running


@pytest.fixture
def git(tmp_path: Path, namespace: str) -> Path:
    """Return a repository that declares the Deployment as Flux applied it."""
    folder = tmp_path / "git"
    folder.mkdir()
    declare(folder, namespace, replicas=3)
    return folder


@pytest.fixture
def correlator(guard: Guard, git: Path, cluster: ControlPlane) -> Iterator[Correlator]:
    with cluster.new_processes() as processes:
        kubeconfig = cluster.kubeconfig("admin")
        options = ("--git", str(git), "--keys", str(guard.keys))
        yield start_correlator(processes, "grants", kubeconfig, guard.ledger, *options)


def declare(folder: Path, namespace: str, replicas: int) -> None:
    manifest = by_flux(deployment("web", namespace, replicas=replicas), "shop")
    (folder / "web.json").write_text(json.dumps(manifest))


def test_an_open_grant_becomes_overdue_and_is_settled_by_git(
    cluster: ControlPlane, flux_account: Caller, namespace: str, git: Path, correlator: Correlator
) -> None:
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    patch: Any = {
        "metadata": {"annotations": {f"{PREFIX}{name}": text for name, text in ASK.items()}},
        "spec": {"replicas": 8},
    }
    words = ("patch", "deployment/web", "-n", namespace, "-p", json.dumps(patch))
    eventually(
        lambda: cluster.as_("responder").kubectl(*words, check=False).returncode == 0,
        "both registrations",
    )

    def shown(state: str) -> float | None:
        return correlator.metric("glasswarden_grants", state=state)

    eventually(lambda: shown("overdue") == 1, "the grant to be overdue", seconds=90)
    assert shown("open") == 0
    events = cluster.get("events.v1.events.k8s.io", "-n", namespace)["items"]
    [told] = [each for each in events if each["reason"] == "BreakGlassExpired"]
    assert told["note"] == (
        "The grant of responder for INC-42 is over: Git decides again."
        " Changed under it: /spec/replicas."
    )
    assert told["regarding"]["name"] == "web"
    declare(git, namespace, replicas=8)
    eventually(lambda: shown("settled") == 1, "Git to settle it", seconds=90)
    assert shown("overdue") == 0
