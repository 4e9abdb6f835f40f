"""`namespaces`: which Namespaces have a grant, or that it is unknown."""

import asyncio
from typing import Any

import pytest

from glasswarden.cluster.client import ApiServerError, NotFound
from glasswarden.kube.objects import Object
from glasswarden.policy.breakglass.names import ACTIVE
from webhook.caches import NAMESPACES, Namespaces, NamespaceUnknown, Watched


class OneNamespace:
    """An API server that knows *found*, or fails with it."""

    def __init__(self, found: Object | ApiServerError) -> None:
        self.reads = 0
        self._found = found

    def get(self, path: str, accept: str = "") -> Any:  # noqa: ANN401, ARG002 - as the real one
        if path == "/api/v1":
            return {"resources": [{"name": "namespaces", "kind": "Namespace"}]}
        assert path == "/api/v1/namespaces/shop"
        self.reads += 1
        if isinstance(self._found, ApiServerError):
            raise self._found
        return self._found


class StillWatch(Watched):
    """A watch that is begun and, of its own, never tells anything."""

    begun = 0

    def start(self) -> None:
        self.begun += 1


def a_namespace(**labels: str) -> Object:
    return {"metadata": {"name": "shop", "uid": "u", "labels": labels, "annotations": {"a": "b"}}}


GRANTED = a_namespace(**{ACTIVE: "true"})


class Scene:
    """Namespaces that read from a server and are told by a watch."""

    def __init__(self, found: Object | ApiServerError) -> None:
        server: Any = OneNamespace(found)
        self.server = server
        self.watch = StillWatch(server, NAMESPACES, label=ACTIVE)
        self._namespaces = Namespaces(server, self.watch)

    def find(self, *, fresh: bool = False) -> Object | None:
        return asyncio.run(self._namespaces.find("shop", fresh=fresh))


def test_namespace_is_read_until_the_watch_has_begun() -> None:
    scene = Scene(GRANTED)
    found = scene.find()
    assert found is not None
    assert (found["kind"], found["metadata"]["annotations"]) == ("Namespace", {"a": "b"})
    assert scene.watch.begun == 1


@pytest.mark.parametrize(
    "found", [a_namespace(team="shop"), NotFound("gone")], ids=["without a grant", "deleted"]
)
def test_namespace_without_a_grant_is_not_found(found: Object | ApiServerError) -> None:
    assert Scene(found).find() is None


def test_namespace_in_the_watch_is_not_read_again() -> None:
    scene = Scene(GRANTED)
    scene.watch.objects = {("", "shop"): GRANTED}
    assert scene.find() == GRANTED
    scene.watch.objects = {}
    assert scene.find() is None
    assert scene.server.reads == 0


def test_fresh_lookup_reads_the_namespace_despite_the_watch() -> None:
    scene = Scene(GRANTED)
    scene.watch.objects = {}
    assert scene.find(fresh=True) is not None
    assert scene.server.reads == 1


def test_unreadable_namespace_is_unknown_and_not_read_at_every_write() -> None:
    scene = Scene(ApiServerError("HTTP 403"))
    for _ in range(3):
        with pytest.raises(NamespaceUnknown):
            scene.find()
    assert scene.server.reads == 1
    assert scene.watch.begun == 1
