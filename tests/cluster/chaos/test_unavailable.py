"""The webhook is unavailable, and its failurePolicy is Fail: only guarded writes fail."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.chaos import Note
from tests.cluster.api import api_server
from tests.cluster.applications import by_flux, deployment
from tests.cluster.chaos.stand import HEAD, Stand, deploy, new_stand
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN
from tests.cluster.kubectl import Caller
from tests.cluster.load import Tally, count, writing
from tests.cluster.retries import eventually

WRITES = 20
HELD = "registry.example/held:hotfix"
ASK = ("reason=checkout answers nobody", "ticket=INC-42", "ttl=1h")


@pytest.fixture
def stand(cluster: ControlPlane, tmp_path: Path) -> Stand:
    return new_stand(cluster, tmp_path)


def hold(stand: Stand, namespace: str) -> None:
    """Have a responder break the glass on `held` and put a hotfix in, which is held from then."""
    responder = stand.cluster.as_("responder")
    asks = [f"breakglass.glasswarden.io/{each}" for each in ASK]
    responder.kubectl("annotate", "deployment/held", "-n", namespace, *asks)
    responder.kubectl("set", "image", "deployment/held", f"app={HELD}", "-n", namespace)


def test_only_guarded_writes_fail_while_the_webhook_is_unavailable(
    stand: Stand, flux_account: Caller, argocd_account: Caller, namespace: str, chaos: Note
) -> None:
    cluster = stand.cluster
    deploy(flux_account, namespace, "web", "held")
    deploy(argocd_account, namespace, "api")
    cluster.as_("developer").kubectl("create", "-f", "-", stdin=deployment("free", namespace))
    replica = stand.replica()
    with replica, stand.asked_at(replica.port):
        hold(stand, namespace)
        deploy(flux_account, namespace, "held")
        assert image_of(cluster, namespace, "held") == HELD
        replica.kill_all()
        passing = {
            "flux": tally_of(flux_account, namespace, "web"),
            "flux, held object": tally_of(flux_account, namespace, "held"),
            "argocd": tally_of(argocd_account, namespace, "api"),
            "unguarded": tally_of(cluster.as_("developer"), namespace, "free"),
            "emergency": tally_of(cluster.as_("lead"), namespace, "web", key="by-hand"),
        }
        kube_system = Tally()
        for number in range(WRITES):
            count(lambda: write_in_kube_system(cluster, number), kube_system)  # noqa: B023
        passing["kube-system"] = kube_system
        rolled = deployment("rolled", namespace)
        flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=by_flux(rolled, "shop"))
        eventually(
            lambda: cluster.get("pods", "-n", namespace, "-l", "app=rolled")["items"],
            "Kubernetes' own controllers to roll out",
        )
        refused = tally_of(cluster.as_("developer"), namespace, "web")
    chaos(
        "webhook down, failurePolicy Fail",
        writes_of_others=sum(tally.calls for tally in passing.values()),
        failed=sum(len(tally.failures) for tally in passing.values()),
        guarded_direct_writes=refused.calls,
        refused=len(refused.failures),
    )
    assert {who: tally.failures for who, tally in passing.items() if tally.failures} == {}
    assert len(refused.failures) == refused.calls == WRITES
    assert all('failed calling webhook "guard.glasswarden.io"' in each for each in refused.failures)
    assert_reported(stand, namespace)


def tally_of(caller: Caller, namespace: str, name: str, key: str = "tick") -> Tally:
    """Have *caller* write to a Deployment some times."""
    tally, write = Tally(), writing(api_server(caller.kubeconfig), namespace, name, key)
    for _ in range(WRITES):
        count(write, tally)
    return tally


def write_in_kube_system(cluster: ControlPlane, number: int) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "chaos", "namespace": "kube-system"},
        "data": {"tick": str(number)},
    }
    api_server(cluster.kubeconfig("developer")).apply(
        "/api/v1/namespaces/kube-system/configmaps/chaos", manifest
    )


def image_of(cluster: ControlPlane, namespace: str, name: str) -> str:
    live = cluster.get(f"deployment/{name}", "-n", namespace)
    image: str = live["spec"]["template"]["spec"]["containers"][0]["image"]
    return image


def assert_reported(stand: Stand, namespace: str) -> None:
    """See that the emergency group's writes are found, as drift and each by the audit log."""
    cluster, folder = stand.cluster, stand.folder
    declared = by_flux(deployment("web", namespace), "shop")
    declared["spec"]["paused"] = True
    git = folder / "git"
    git.mkdir()
    (git / "web.json").write_text(json.dumps(declared))
    log = folder / "audit.log"
    log.write_text("".join(json.dumps(event) + "\n" for event in cluster.audit_events()))
    command = [*GLASSWARDEN, "drift", "--git", str(git), "--format", "json", "-n", namespace]
    command += ["--audit-log", str(log), "--policy", str(stand.policy)]
    command += ["--kubeconfig", str(cluster.kubeconfig("admin"))]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "by-hand" in found
    told = [
        (each["object"]["name"], each["link"]["actor"], each["response"])
        for each in json.loads(found)["findings"]
        if each["source"] == "audit" and "emergency group" in each["link"]["why"]
    ]
    assert told == [("web", "lead", "alert")] * WRITES


def test_no_write_fails_in_audit_mode_while_the_webhook_is_unavailable(
    cluster: ControlPlane, tmp_path: Path, flux_account: Caller, namespace: str, chaos: Note
) -> None:
    stand = new_stand(cluster, tmp_path, f"{HEAD}mode: audit\nreconcilers: audit\n")
    deploy(flux_account, namespace, "web")
    replica = stand.replica()
    with replica, stand.asked_at(replica.port):
        replica.kill_all()
        tally = tally_of(cluster.as_("developer"), namespace, "web", key="by-hand")
    chaos(
        "webhook down, nothing enforced",
        guarded_direct_writes=tally.calls,
        refused=len(tally.failures),
    )
    assert (tally.calls, tally.failures) == (WRITES, [])
