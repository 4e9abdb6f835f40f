"""The correlator follows grants: metrics, and an Event for each that has ended."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from correlator.episodes.episode import Changes, Term
from correlator.service import metrics
from correlator.service.duties import GRANTS_EVERY, declared_by, new_grants
from correlator.service.model import Declares, Passed, Settings
from correlator.still_live import Lookup, NotKnown
from glasswarden.cluster.client import ApiServerError, Conflict, Forbidden
from glasswarden.kube.objects import Object, Ref
from glasswarden.policy.policy import DEFAULT
from tests.correlator.attribution.builders import UID, at
from tests.correlator.grants.test_grant import STORY
from tests.correlator.service.builders import tools_in
from tests.ledger.builders import records_of

if TYPE_CHECKING:
    from glasswarden.cluster.client import ApiServer

END = at(30)


class Server:
    """An API server with the Deployment that was changed, and what was created in it."""

    def __init__(self) -> None:
        self.replicas = 8
        self.events: list[Object] = []
        self.failure: ApiServerError | None = None

    def fetch(self, _path: str, _accept: str = "") -> bytes:
        kind = {"responseKind": {"kind": "Deployment"}, "resource": "deployments"}
        version: dict[str, Any] = {"version": "v1", "resources": [kind | {"scope": "Namespaced"}]}
        group = {"metadata": {"name": "apps"}, "versions": [version]}
        return json.dumps({"items": [group]}).encode()

    def get(self, _path: str) -> Object:
        metadata = {"name": "web", "namespace": "shop", "uid": UID}
        spec = {"replicas": self.replicas}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}

    def create(self, _path: str, manifest: Object) -> None:
        if self.failure is not None:
            raise self.failure
        self.events.append(manifest)


class Stage:
    """The duty, on a real ledger."""

    def __init__(self, folder: Path) -> None:
        self.server = Server()
        (folder / "git").mkdir()
        self._git = folder / "git" / "web.json"
        source = Declares(name="shop", git=str(folder / "git"), namespace="shop")
        self.tools = replace(
            tools_in(folder),
            server=cast("ApiServer", self.server),
            settings=Settings(f"sqlite://{folder}/ledger.db", sources=(source,)),
        )
        self.tools.ledger.append(records_of(*STORY))
        self.duty = new_grants(self.tools)

    def declare(self, replicas: int) -> None:
        web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
        self._git.write_text(json.dumps(web | {"spec": {"replicas": replicas}}))

    def passes(self, now: datetime) -> dict[str, float]:
        """Do the duty at *now*; return the metric of each state that is not zero."""
        term = Term(STORY[0].cluster, 1)
        self.duty(Passed(now, term, DEFAULT, (), Changes(), ()))
        families = metrics.REGISTRY.collect()
        [family] = [each for each in families if each.name == "glasswarden_grants"]
        return {each.labels["state"]: each.value for each in family.samples if each.value}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.tools.history.close()
    stage.tools.ledger.close()


def test_grant_is_open_then_overdue_then_settled_by_git(stage: Stage) -> None:
    assert stage.passes(at(5)) == {"open": 1}
    assert stage.passes(END) == {"overdue": 1}
    stage.declare(replicas=3)
    assert stage.passes(at(31)) == {"overdue": 1}
    stage.declare(replicas=8)
    assert stage.passes(at(32)) == {"settled": 1}


def test_grant_is_settled_when_its_change_is_undone(stage: Stage) -> None:
    stage.server.replicas = 3
    assert stage.passes(END) == {"settled": 1}


def test_grants_are_inspected_at_most_once_per_interval(stage: Stage) -> None:
    assert stage.passes(END - timedelta(seconds=1)) == {"open": 1}
    assert stage.passes(END) == {"open": 1}
    assert stage.passes(END + GRANTS_EVERY) == {"overdue": 1}


def test_end_of_a_grant_is_published_once(stage: Stage) -> None:
    stage.passes(at(5))
    assert stage.server.events == []
    for minute in (30, 31, 32):
        stage.passes(at(minute))
    [event] = stage.server.events
    assert event["metadata"] == {"name": "web.g1.expired", "namespace": "shop"}
    assert event["reason"] == "BreakGlassExpired"
    assert event["reportingController"] == "glasswarden.io/correlator"


def test_end_published_by_another_replica_is_not_published_again(stage: Stage) -> None:
    stage.server.failure = Conflict("told")
    stage.passes(END)
    stage.server.failure = None
    stage.passes(at(31))
    assert stage.server.events == []


def test_failed_event_is_retried_and_affects_no_metric(stage: Stage) -> None:
    stage.server.failure = Forbidden("no right")
    assert stage.passes(END) == {"overdue": 1}
    stage.server.failure = None
    stage.passes(at(31))
    assert len(stage.server.events) == 1


def _declares(found: Object | None) -> Lookup:
    return lambda _ref: found


def _unread(_ref: Ref) -> Object | None:
    raise NotKnown


def test_object_is_declared_when_any_of_several_repositories_declares_it() -> None:
    ref, web = Ref("apps", "v1", "Deployment", "shop", "web"), {"kind": "Deployment"}
    assert declared_by([_declares(None), _unread, _declares(web)])(ref) == web
    assert declared_by([_declares(None), _declares(None)])(ref) is None
    with pytest.raises(NotKnown):
        declared_by([_unread, _declares(None)])(ref)
