"""`parents`: the object that a Scale scales, from the cache only where the cache is up to date."""

from typing import Any, Final

import pytest

from glasswarden.kube.objects import Object
from webhook import caches
from webhook.caches import Parents, Watched
from webhook.review import Resource

DEPLOYMENTS: Final = Resource("apps", "v1", "deployments")


class OneDeployment:
    """An API server with one Deployment; it notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, path: str, accept: str = "") -> dict[str, Any]:  # noqa: ARG002 - as the real one
        self.asked.append(path)
        if path == "/apis/apps/v1":
            return {"resources": [{"name": "deployments", "kind": "Deployment"}]}
        return {"metadata": metadata()}


class StillWatch(Watched):
    """A watch that has told of one Deployment, and tells nothing more."""

    def start(self) -> None:
        self.objects = {("shop", "web"): {"kind": "Deployment", "metadata": metadata()}}


def metadata(**differing: str) -> Object:
    return {
        "name": "web",
        "namespace": "shop",
        "uid": "0b6f9e0c",
        "resourceVersion": "7",
    } | differing


def a_scale(**differing: str) -> Object:
    return {"kind": "Scale", "metadata": metadata(**differing)}


@pytest.fixture
def server() -> OneDeployment:
    return OneDeployment()


@pytest.fixture
def looked_up(server: OneDeployment, monkeypatch: pytest.MonkeyPatch) -> Parents:
    monkeypatch.setattr(caches, "Watched", StillWatch)
    return Parents(server)  # type: ignore[arg-type]  # as far as it is used here


def test_cached_parent_is_not_requested(looked_up: Parents, server: OneDeployment) -> None:
    found = looked_up.find_cached(DEPLOYMENTS, a_scale())
    assert found is not None
    assert found["kind"] == "Deployment"
    assert server.asked == []


@pytest.mark.parametrize(
    "differing",
    [
        pytest.param({"uid": "other"}, id="made anew"),
        pytest.param({"resourceVersion": "8"}, id="written to since"),
        pytest.param({"resourceVersion": ""}, id="without a version"),
        pytest.param({"name": "other"}, id="another"),
    ],
)
def test_outdated_cached_parent_is_not_used(looked_up: Parents, differing: dict[str, str]) -> None:
    """The watch may not have delivered yet that an engine's marks were added."""
    assert looked_up.find_cached(DEPLOYMENTS, a_scale(**differing)) is None


def test_missing_parent_is_read_with_one_request(looked_up: Parents, server: OneDeployment) -> None:
    for _ in range(3):
        assert looked_up.read(DEPLOYMENTS, "shop", "web")["metadata"]["uid"] == "0b6f9e0c"
    one = "/apis/apps/v1/namespaces/shop/deployments/web"
    assert server.asked == ["/apis/apps/v1", one, one, one]
