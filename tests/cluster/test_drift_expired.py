"""What outlives the history of the real API server: a list that takes long, an idle watch.

Half-finished rollouts are here too: they need no more than the deployment controller.
"""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from correlator.classify.rule import Scene
from correlator.declared.git import Address
from correlator.declared.read import read_declared
from correlator.declared.render import Release
from correlator.detector.detect import Detector
from correlator.inspection import follow
from correlator.inspection.follow import Follower
from correlator.inspection.scan import Scan
from correlator.live import cluster as listing
from correlator.live.cluster import ClusterLive
from correlator.live.source import Kind, Scope
from glasswarden.cluster.client import ApiServer, Expired
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.kube.objects import Object
from glasswarden.policy.policy import DEFAULT
from tests.cluster.api import Api
from tests.cluster.controlplane import ControlPlane
from tests.cluster.drift_exam import marked
from tests.cluster.drift_kinds import definitions, put
from tests.cluster.retries import eventually
from tests.cluster.test_drift import OWNER, a_deployment, declare, drift

GADGET = Kind("example.com", "v1", "Gadget")


@pytest.fixture
def git(tmp_path: Path) -> Path:
    folder = tmp_path / "git"
    folder.mkdir()
    return folder


@pytest.fixture
def api(cluster: ControlPlane, tmp_path: Path) -> Api:
    """Return a client of an API server that serves gadgets only now, and knows none from before."""
    (tmp_path / "gadgets.json").write_text(json.dumps(definitions()[1]))
    cluster.define(tmp_path / "gadgets.json")
    return Api(cluster.as_("admin"))


def a_gadget(namespace: str, name: str) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": name, "namespace": namespace, "labels": {}},
        "spec": {"size": 1},
    }


class Slow(ApiServer):
    """Asks for the second page so late that the API server has forgotten the first."""

    expired = 0

    def fetch(self, path: str, accept: str = "application/json", seconds: float = 60.0) -> bytes:
        head, found, token = path.partition("&continue=")
        if found and token and not self.expired:
            path = f"{head}{found}{quote(_aged(unquote(token)))}"
        try:
            return super().fetch(path, accept, seconds)
        except Expired:
            self.expired += 1
            raise


def _aged(token: str) -> str:
    """Return *token* as the API server gave it out long ago."""
    told = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    return base64.urlsafe_b64encode(json.dumps({**told, "rv": 1}).encode()).decode().rstrip("=")


def test_list_with_an_expired_continue_token_is_restarted(
    cluster: ControlPlane, namespace: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    names = [f"g{number}" for number in range(5)]
    for name in names:
        api.apply(a_gadget(namespace, name), OWNER)
    cluster.forget()
    server = Slow(access_from(cluster.kubeconfig("admin")), "tests")
    live = ClusterLive(server, Scope(namespace, namespace))
    found = {each["metadata"]["name"] for each in live.objects(GADGET, frozenset())}
    assert server.expired == 1
    assert found == set(names)


class Forgetful(dict[Kind, str]):
    """Gives the version of each list as that of one long ago."""

    def __getitem__(self, kind: Kind) -> str:
        super().__getitem__(kind)
        return "1"


def test_watch_with_an_expired_version_causes_a_full_pass(
    cluster: ControlPlane,
    namespace: str,
    git: Path,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follow, "REST_SECONDS", 0.5)
    made = a_gadget(namespace, "one")
    declare(git, made)
    api.apply(marked(made), OWNER)
    server = ApiServer(access_from(cluster.kubeconfig("admin")), "tests")
    passes = 0

    def new_scan() -> tuple[Scan, ClusterLive]:
        nonlocal passes
        passes += 1
        live = ClusterLive(server, Scope(namespace, namespace))
        live.versions = Forgetful()
        manifests = read_declared(Address(str(git), ""), "", Release())
        return Scan(Detector(DEFAULT, manifests.revision), manifests, live), live

    follower = Follower(server, new_scan, lambda: None)
    scene = Scene(DEFAULT, datetime.now(UTC))
    assert follower.run(scene).findings == ()
    api.patch(made, [put("/spec/size", 3)], "kubectl-edit")
    eventually(lambda: len(follower.run(scene).findings) == 1, "a full pass to see the edit")
    follower.close()
    assert passes > 1


def test_unfinished_rollout_is_waited_for(cluster: ControlPlane, namespace: str, git: Path) -> None:
    """Nobody runs pods here, so a rollout that may lack none stands still after its first."""
    careful = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    web = a_deployment(namespace, replicas=4, strategy=careful)

    def with_image(tag: int) -> Object:
        made: Object = json.loads(json.dumps(web).replace("web:1", f"web:{tag}"))
        return made

    api = Api(cluster.as_("admin"))

    def updated() -> int | None:
        live = api.get(web) or {}
        is_observed = live["status"].get("observedGeneration") == live["metadata"]["generation"]
        return live["status"].get("updatedReplicas") if is_observed else None

    api.apply(marked(with_image(1)), OWNER)
    eventually(lambda: updated() == 4, "the first rollout")
    api.apply(marked(with_image(2)), OWNER)
    eventually(lambda: updated() == 1, "the second one to begin")
    declare(git, with_image(3))
    [finding] = drift(cluster.kubeconfig("admin"), git, "-n", namespace)["findings"]
    assert (finding["class"], finding["response"]) == ("sync-availability", "alert")
    assert finding["verify"].startswith("kubectl rollout status")
