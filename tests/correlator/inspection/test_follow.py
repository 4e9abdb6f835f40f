"""`follow`: when a pass inspects everything, and what a failed pass leaves behind."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from correlator.classify.rule import Scene
from correlator.declared.manifests import Manifests
from correlator.detector.detect import Detector
from correlator.finding import Incomplete, Result
from correlator.inspection.follow import Follower, _Watch, _WatchStart
from correlator.inspection.scan import Scan
from correlator.live.cluster import ClusterLive
from correlator.live.folder import FolderLive
from correlator.live.source import Scope
from glasswarden.cluster.client import ApiServer, Unreachable
from glasswarden.policy.policy import DEFAULT
from tests.correlator.classify.test_rules import NOW

SCENE = Scene(DEFAULT, NOW)
NOBODY = cast("ApiServer", None)
"""Nothing is declared here, so nothing is watched."""


class Cluster:
    """Counts passes, each with a result of its own; does not answer while it is down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_up = True
        self.revision = "a"
        self.passes = 0

    def new_scan(self) -> tuple[Scan, ClusterLive]:
        if not self.is_up:
            raise Unreachable("nobody answers")
        self.passes += 1
        manifests = Manifests(incomplete=(Incomplete("pass", str(self.passes)),))
        live = FolderLive(self.folder, Scope())
        return Scan(Detector(DEFAULT, ""), manifests, live), cast("ClusterLive", None)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


@pytest.fixture
def follower(cluster: Cluster) -> Follower:
    return Follower(NOBODY, cluster.new_scan, lambda: cluster.revision)


def number(result: Result) -> str:
    return result.incomplete[0].why


def test_pass_without_changes_makes_no_request(cluster: Cluster, follower: Follower) -> None:
    assert follower.run(SCENE) is follower.run(SCENE)
    assert cluster.passes == 1


def test_change_in_git_causes_a_full_pass(cluster: Cluster, follower: Follower) -> None:
    follower.run(SCENE)
    cluster.revision = "b"
    assert number(follower.run(SCENE)) == "2"


def test_failed_pass_does_not_return_an_older_result(cluster: Cluster, follower: Follower) -> None:
    follower.run(SCENE)
    cluster.revision, cluster.is_up = "b", False
    for _ in range(2):
        with pytest.raises(Unreachable):
            follower.run(SCENE)
    cluster.is_up = True
    assert number(follower.run(SCENE)) == "2"


def test_changed_ledger_gives_a_new_result_without_a_full_pass(
    cluster: Cluster, follower: Follower
) -> None:
    first = follower.run(SCENE)
    assert follower.run(SCENE, list) is not first
    assert cluster.passes == 1


def test_ended_grant_gives_a_new_result_without_a_full_pass(
    cluster: Cluster, follower: Follower
) -> None:
    granted = replace(SCENE, open_grants={"g1": NOW})
    first = follower.run(granted)
    assert follower.run(granted) is first
    assert follower.run(SCENE) is not first
    assert cluster.passes == 1


class Watchable:
    """An API server whose watch sends *events*, then fails with *error*."""

    def __init__(self, events: list[Any], error: Exception) -> None:
        self._events, self._error = events, error

    def watch(self, *_: object) -> Iterator[Any]:
        yield from self._events
        raise self._error


@pytest.mark.parametrize(
    "event",
    [None, "ADDED", {}, {"type": "ADDED"}, {"type": "ADDED", "object": {"metadata": None}}],
    ids=["null", "a text", "empty", "no object", "no metadata"],
)
def test_watch_with_a_malformed_event_must_be_restarted(event: object) -> None:
    assert lost_by(Watchable([event], Unreachable("nobody answers")))


@pytest.mark.parametrize("error", [Unreachable("x"), RecursionError(), TypeError(), ValueError()])
def test_watch_that_fails_must_be_restarted(error: Exception) -> None:
    assert lost_by(Watchable([], error))


def lost_by(server: Watchable) -> bool:
    """Return whether a watch of *server* says that it lost its place, and wakes who waits."""
    changed = threading.Event()
    place = _WatchStart("/api/v1/configmaps", "5", frozenset())
    watch = _Watch(cast("ApiServer", server), place, changed.set)
    return changed.wait(10) and watch.events() == ["lost"]
