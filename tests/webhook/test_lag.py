"""A grant that was just issued counts, although the cache does not have it yet."""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glasswarden.keys.folder import new_key
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import issue_stamp
from tests.cluster.retries import eventually
from tests.ledger.builders import KEYS
from tests.policy.breakglass.builders import a_stamp
from tests.policy.builders import NOW
from tests.webhook.builders import Object, a_deployment, a_review
from tests.webhook.test_fuzz import Forgetful
from tests.webhook.test_mutation import POLICY
from webhook.admission import Admission
from webhook.caches import Namespaces, Parents
from webhook.context import Reader
from webhook.mutation import Mutation
from webhook.recording.recorder import Recorder
from webhook.recording.store import InlineLink
from webhook.reloading import PREFIX, GrantKeys, Rules

RESOURCES = {
    "/apis/apps/v1": {"resources": [{"name": "deployments", "kind": "Deployment"}]},
    "/api/v1": {"resources": [{"name": "namespaces", "kind": "Namespace"}]},
}


class Lagging:
    """An API server whose lists and watches show what was, and whose objects are as they are."""

    def __init__(self, *stale: Object) -> None:
        self.objects: dict[str, Object] = {}
        self.reads: list[str] = []
        self.watched: set[str] = set()
        """The resources whose watch has begun, after their list was taken."""
        self._stale = list(stale)

    def get(self, path: str, accept: str = "") -> Any:  # noqa: ANN401, ARG002 - as the real one
        if path in RESOURCES:
            return RESOURCES[path]
        if "?" in path:
            return {"metadata": {"resourceVersion": "5"}, "items": self._stale}
        self.reads.append(path)
        return self.objects[path]

    def watch(self, path: str, *_: str) -> Iterator[Any]:
        self.watched.add(path.partition("?")[0].rpartition("/")[2])
        threading.Event().wait()
        yield  # never


class Desk:
    """A webhook before such a server."""

    def __init__(self, folder: Path, server: Any) -> None:  # noqa: ANN401 - as far as it is used
        (folder / "policy.yaml").write_text(POLICY)
        new_key(folder, PREFIX, NOW)
        keys, rules = GrantKeys(folder), Rules(folder / "policy.yaml")
        self.ring, self._server = keys.ring, server
        self._parents = Parents(server)
        reader = Reader(keys, Namespaces(server))
        recorder = Recorder(InlineLink(Forgetful), "lag", "test", KEYS)
        self._admission = Admission(
            rules, recorder, self._parents, reader=reader, clock=lambda: NOW
        )
        self._mutation = Mutation(rules, reader, clock=lambda: NOW)

    def grant(self, **differing: str) -> Object:
        """Return the annotations of a grant."""
        stamp = a_stamp(actor="developer", actor_uid="", rule="all", **differing)
        return {names.REASON: "checkout is down", names.GRANT: issue_stamp(stamp, self.ring, NOW)}

    async def validated(self, **request: Any) -> tuple[bool, int]:  # noqa: ANN401 - of a request
        """Return whether a write passes once all is in memory, and how much was read for it."""
        await self._admission.validate(a_review(**request))
        await self._watches(request)
        before = len(self._server.reads)
        said = json.loads(await self._admission.validate(a_review(**request)))["response"]
        return said["allowed"], len(self._server.reads) - before

    async def remembered(self, **request: Any) -> bool:  # noqa: ANN401 - of a request
        """Return whether a write is stamped once all is in memory."""
        await self._mutation.mutate(a_review(**request))
        await self._watches(request)
        answer = json.loads(await self._mutation.mutate(a_review(**request)))["response"]
        return names.GRANT.replace("/", "~1") in base64.b64decode(answer.get("patch", "")).decode()

    async def _watches(self, request: Object) -> None:
        """Wait until what a first review of *request* begins to watch is in memory."""
        needed = {"namespaces"} | ({"deployments"} if "subResource" in request else set())
        await asyncio.to_thread(eventually, lambda: needed <= self._server.watched, "the watches")


def web() -> Object:
    """Return the Deployment at the version that the Scale shows."""
    made = a_deployment()
    made["metadata"]["resourceVersion"] = "7"
    return made


@pytest.fixture
def server() -> Lagging:
    lagging = Lagging(web())
    lagging.objects["/api/v1/namespaces/shop"] = {"metadata": {"name": "shop", "uid": "ns"}}
    lagging.objects["/apis/apps/v1/namespaces/shop/deployments/web"] = web()
    return lagging


SCALED: dict[str, Any] = {
    "subResource": "scale",
    "object": {"metadata": web()["metadata"], "spec": {"replicas": 9}},
    "oldObject": {"metadata": web()["metadata"], "spec": {"replicas": 3}},
}
BY_OUTSIDER = {"userInfo": {"username": "outsider", "groups": []}}


def test_new_grant_on_a_scaled_object_counts_before_the_cache_has_it(
    tmp_path: Path, server: Lagging
) -> None:
    desk = Desk(tmp_path, server)
    live = server.objects["/apis/apps/v1/namespaces/shop/deployments/web"]
    assert asyncio.run(desk.validated(**SCALED))[0] is False
    live["metadata"]["annotations"] = desk.grant()
    assert asyncio.run(desk.validated(**SCALED))[0] is True


def granted_around(desk: Desk, server: Lagging) -> None:
    server.objects["/api/v1/namespaces/shop"]["metadata"] |= {
        "labels": {names.ACTIVE: "true"},
        "annotations": desk.grant(uid="ns"),
    }


def test_new_grant_on_the_namespace_counts_before_the_cache_has_it(
    tmp_path: Path, server: Lagging
) -> None:
    desk = Desk(tmp_path, server)
    granted_around(desk, server)
    assert asyncio.run(desk.validated())[0] is True
    assert asyncio.run(desk.remembered()) is True


def test_nothing_is_read_for_a_person_without_a_rule(tmp_path: Path, server: Lagging) -> None:
    desk = Desk(tmp_path, server)
    assert asyncio.run(desk.validated(**BY_OUTSIDER)) == (False, 0)
    assert asyncio.run(desk.validated(**SCALED, **BY_OUTSIDER)) == (False, 0)
