"""The correlator as a service, on the real API server."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from correlator.episodes.episode import Episode
from glasswarden.kube.objects import Object
from tests.cluster.api import Api
from tests.cluster.controlplane import ControlPlane
from tests.cluster.correlating import Correlator, episodes, start_correlator
from tests.cluster.drift_exam import marked
from tests.cluster.drift_kinds import put
from tests.cluster.processes import Processes
from tests.cluster.retries import eventually
from tests.cluster.test_drift import OWNER, a_deployment, declare

REPLICAS = "/spec/replicas"
PASSES = "glasswarden_correlator_passes_total"


@dataclass(frozen=True)
class Shop:
    """One Deployment that is as Git says, and those who look after it."""

    cluster: ControlPlane
    processes: Processes
    namespace: str
    folder: Path
    web: Object
    api: Api

    @property
    def git(self) -> Path:
        return self.folder / "git"

    @property
    def ledger(self) -> str:
        return f"sqlite://{self.folder.resolve()}/ledger.db"

    def correlator(self, name: str, *options: str) -> Correlator:
        file = self.folder / "sources.yaml"
        file.write_text(
            "apiVersion: glasswarden.io/v1\nkind: Sources\nsources:\n"
            f"  - {{name: shop, git: {self.git}, namespace: {self.namespace}, team: checkout}}\n"
        )
        kubeconfig = self.cluster.kubeconfig("admin")
        told = ("--sources", str(file), *options)
        return start_correlator(self.processes, name, kubeconfig, self.ledger, *told)

    def scale(self, replicas: int) -> None:
        self.api.patch(self.web, [put(REPLICAS, replicas)], "kubectl-edit")

    def heal(self) -> None:
        self.api.apply(marked(self.web), OWNER)

    def episodes(self) -> list[Episode]:
        return episodes(self.ledger)

    def holder(self) -> str:
        lease = self.cluster.get("lease", "correlator", "-n", self.namespace)
        found: str = lease["spec"].get("holderIdentity", "")
        return found

    def term(self) -> tuple[int, str]:
        with closing(sqlite3.connect(self.ledger.removeprefix("sqlite://"))) as connection:
            [(number, holder)] = connection.execute("SELECT number, holder FROM term")
        return number, holder


@pytest.fixture
def shop(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Shop]:
    web = a_deployment(namespace)
    (tmp_path / "git").mkdir()
    declare(tmp_path / "git", web)
    with cluster.new_processes() as processes:
        shop = Shop(cluster, processes, namespace, tmp_path, web, Api(cluster.as_("admin")))
        shop.heal()
        yield shop


def test_finding_is_followed_from_its_detection_to_its_end(shop: Shop) -> None:
    # An interval that no test waits for: what is seen is seen because something changed.
    one = shop.correlator("one", "--interval", "1h")
    assert one.asks("/healthz") == (200, "ok\n")
    assert shop.episodes() == []

    shop.scale(5)
    [episode] = eventually(shop.episodes, "the edit to be found")
    found = episode.last
    assert (found.source, found.team, found.name) == ("shop", "checkout", "web")
    assert (found.field, found.declared, found.live) == (REPLICAS, "1", "5")
    assert found.class_ == "desired-configuration"
    shown = {"class": "desired-configuration"}
    eventually(lambda: one.metric("glasswarden_findings", **shown) == 1, "the metric")

    shop.scale(7)
    eventually(lambda: shop.episodes()[0].changes == 1, "the second edit to be found")
    shop.heal()
    [episode] = eventually(lambda: [e for e in shop.episodes() if e.gone], "it to be gone")
    eventually(lambda: one.metric("glasswarden_findings", **shown) == 0, "the metric")


def test_unreachable_repository_keeps_findings_open(shop: Shop) -> None:
    shop.scale(5)
    one = shop.correlator("one")
    assert len(shop.episodes()) == 1
    shop.git.rename(shop.folder / "away")
    failures = "glasswarden_source_failures_total"
    eventually(lambda: one.metric(failures, source="shop"), "the failure to be counted")
    assert [each.gone for each in shop.episodes()] == [None]
    assert one.is_ready
    (shop.folder / "away").rename(shop.git)
    shop.heal()
    eventually(lambda: shop.episodes()[0].gone, "the finding to be gone")


def test_second_replica_takes_over_when_the_leader_dies(shop: Shop) -> None:
    shop.scale(5)
    lease = ("--lease", f"{shop.namespace}/correlator")
    one = shop.correlator("one", *lease)
    other = shop.correlator("other", *lease)
    assert (one.leads, other.leads) == (True, False)
    assert other.metric(PASSES, outcome="done") == 0
    assert shop.term() == (1, "one")

    os.kill(one.process.pid, signal.SIGKILL)
    eventually(lambda: other.leads, "the other to take over")
    assert shop.term() == (2, "other")
    assert other.metric(PASSES, outcome="deposed") == 0
    assert [each.gone for each in shop.episodes()] == [None]

    shop.scale(7)
    eventually(lambda: shop.episodes()[0].changes == 1, "the other to follow")


def test_leader_releases_its_lease_on_sigterm(shop: Shop) -> None:
    lease = ("--lease", f"{shop.namespace}/correlator", "--lease-duration", "1h")
    one = shop.correlator("one", *lease)
    eventually(lambda: shop.holder() == "one", "the lease to be taken")
    os.kill(one.process.pid, signal.SIGTERM)
    eventually(lambda: not one.process.running, "the program to end")
    assert shop.holder() == ""


def test_watch_survives_a_period_without_events(cluster: ControlPlane, namespace: str) -> None:
    """A limit meant for connecting once ended every watch in which nothing happened."""
    server = Api(cluster.as_("admin")).server
    path = f"/api/v1/namespaces/{namespace}/podtemplates"
    version = server.get(path)["metadata"]["resourceVersion"]
    seen = [event["type"] for event in server.watch(path, version, "application/json", 4)]
    assert set(seen) <= {"BOOKMARK"}
