"""`watched`: what is in memory is fresh, or is not there."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from glasswarden.cluster.client import ApiServerError, Expired
from glasswarden.policy.breakglass import names
from webhook.caches import Watched, partial
from webhook.review import Resource

DEPLOYMENTS: Final = Resource("apps", "v1", "deployments")
BROKEN: Final = ApiServerError("broken")
EXPIRED: Final = Expired("too old")


class EndOfScript(BaseException):
    """The test has seen enough."""


def an_item(name: str, version: str = "1") -> dict[str, Any]:
    return {
        "metadata": {"namespace": "shop", "name": name, "uid": name, "resourceVersion": version}
    }


def an_event(kind: str, name: str, version: str = "9") -> dict[str, Any]:
    return {"type": kind, "object": an_item(name, version)}


class ScriptedServer:
    """Answers lists and watches in the order of a script, and notes what is in memory meanwhile."""

    def __init__(self, *script: Any) -> None:  # noqa: ANN401 - names for a list, events for a watch
        self.asked: list[str] = []
        self.seen: list[list[str] | None] = []
        self.pauses: list[float] = []
        self._script = iter(script)
        self.watched = Watched(
            self,  # type: ignore[arg-type]  # as far as it is used here
            DEPLOYMENTS,
            label="example.com/active",
            sleep=self.pauses.append,
        )

    def follow(self) -> None:
        with pytest.raises(EndOfScript):
            self.watched.follow()

    def get(self, path: str, accept: str = "") -> dict[str, Any]:  # noqa: ARG002 - as the real one
        if path == "/apis/apps/v1":
            return {"resources": [{"name": "deployments", "kind": "Deployment"}]}
        names = self._next(path)
        return {"metadata": {"resourceVersion": "5"}, "items": [an_item(name) for name in names]}

    def watch(self, path: str, version: str, accept: str) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        for event in self._next(f"{path} from {version}"):
            yield event
            self._note()

    def _next(self, path: str) -> Any:  # noqa: ANN401 - as scripted
        self.asked.append(path)
        self._note()
        step = next(self._script, EndOfScript())
        if isinstance(step, BaseException):
            raise step
        return step

    def _note(self) -> None:
        objects = self.watched.objects
        self.seen.append(None if objects is None else sorted(name for _, name in objects))


def test_events_are_followed() -> None:
    events = [an_event("ADDED", "b"), an_event("DELETED", "a"), an_event("BOOKMARK", "", "12")]
    server = ScriptedServer(["a"], events, [])
    server.follow()
    assert server.seen == [None, ["a"], ["a", "b"], ["b"], ["b"], ["b"], ["b"]]
    assert [path for path in server.asked if " from " in path] == [
        "/apis/apps/v1/deployments?labelSelector=example.com%2Factive from 5",
        "/apis/apps/v1/deployments?labelSelector=example.com%2Factive from 12",
        "/apis/apps/v1/deployments?labelSelector=example.com%2Factive from 12",
    ]


@pytest.mark.parametrize(
    "end",
    [EXPIRED, [{"type": "ERROR", "object": {"code": 410, "message": "too old"}}]],
    ids=["at the start of a watch", "within a watch"],
)
def test_a_version_that_is_too_old_is_listed_anew_at_once(end: object) -> None:
    server = ScriptedServer(["a"], [], end, ["b"])
    server.follow()
    assert server.seen == [None, ["a"], ["a"], ["a"], ["b"]]
    assert server.pauses == []


def test_nobody_lists_in_circles() -> None:
    server = ScriptedServer(["a"], EXPIRED, ["a"], EXPIRED)
    server.follow()
    assert server.pauses == [1.0, 2.0]


def test_nothing_is_remembered_while_a_watch_is_broken() -> None:
    server = ScriptedServer(["a"], BROKEN, BROKEN, ["b"])
    server.follow()
    assert server.seen == [None, ["a"], None, None, ["b"]]
    assert server.pauses == [1.0, 2.0]


def test_a_stamp_that_somebody_applied_is_not_kept() -> None:
    """Who owns a field is not kept either, so later nobody could tell."""
    item = an_item("web")
    item["metadata"] |= {
        "annotations": {names.GRANT: "x", names.REASON: "y"},
        "managedFields": [
            {
                "manager": "kustomize-controller",
                "operation": "Apply",
                "fieldsV1": {"f:metadata": {"f:annotations": {f"f:{names.GRANT}": {}}}},
            }
        ],
    }
    kept = partial(item, DEPLOYMENTS, "Deployment")
    assert kept["metadata"]["annotations"] == {names.REASON: "y"}
