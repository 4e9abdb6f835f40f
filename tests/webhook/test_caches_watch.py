"""`watched`: objects in memory are fresh, or absent."""

import json
import ssl
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from glasswarden.cluster.client import Access, ApiServer, ApiServerError, Expired
from glasswarden.kube.objects import decode_pruned
from glasswarden.policy.breakglass import names
from webhook.caches import ObjectMalformed, Watched, partial, read
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


def a_page(items: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a server sends
    return {"metadata": {"resourceVersion": "5"}, "items": items}


class ScriptedServer:
    """Answers lists and watches in the order of a script, and notes what is in memory meanwhile.

    A list is scripted by names, or by what stands in place of the items; a watch by its events.
    """

    def __init__(self, *script: Any) -> None:  # noqa: ANN401 - see above
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
        step = self._next(path)
        if not isinstance(step, list) or not all(isinstance(name, str) for name in step):
            return a_page(step)
        return a_page([an_item(name) for name in step])

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


def test_watch_events_update_the_cache() -> None:
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
def test_expired_version_is_listed_anew_at_once(end: object) -> None:
    server = ScriptedServer(["a"], [], end, ["b"])
    server.follow()
    assert server.seen == [None, ["a"], ["a"], ["a"], ["b"]]
    assert server.pauses == []


def test_repeated_expiry_is_listed_after_a_pause() -> None:
    server = ScriptedServer(["a"], EXPIRED, ["a"], EXPIRED)
    server.follow()
    assert server.pauses == [1.0, 2.0]


def test_cache_is_empty_while_the_watch_is_broken() -> None:
    server = ScriptedServer(["a"], BROKEN, BROKEN, ["b"])
    server.follow()
    assert server.seen == [None, ["a"], None, None, ["b"]]
    assert server.pauses == [1.0, 2.0]


def test_applied_stamp_is_not_cached() -> None:
    """The owners of fields are not cached either, so it could not be recognized later."""
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


def test_null_items_are_an_empty_list() -> None:
    server = ScriptedServer(None, [an_event("ADDED", "a")])
    server.follow()
    assert server.seen == [None, [], ["a"], ["a"]]
    assert server.pauses == []


MALFORMED: Final[dict[str, object]] = {
    "null": None,
    "a text": "web",
    "a list": [],
    "empty": {},
    "null for metadata": {"metadata": None},
    "a text for metadata": {"metadata": "web"},
    "no name": {"metadata": {"resourceVersion": "9"}},
    "a number for a name": {"metadata": {"name": 5, "resourceVersion": "9"}},
    "a map for a name": {"metadata": {"name": {}, "resourceVersion": "9"}},
    "a text for labels": {"metadata": {"name": "b", "labels": "x", "resourceVersion": "9"}},
    "a list for annotations": {"metadata": {"name": "b", "annotations": [1]}},
}


@pytest.mark.parametrize("item", MALFORMED.values(), ids=MALFORMED)
def test_malformed_item_is_left_out(item: object) -> None:
    """It is then read directly, and the others are cached."""
    server = ScriptedServer([an_item("a"), item, an_item("c")], [])
    server.follow()
    assert server.seen == [None, ["a", "c"], ["a", "c"]]
    assert server.pauses == []


@pytest.mark.parametrize("item", MALFORMED.values(), ids=MALFORMED)
def test_direct_read_of_a_malformed_object_is_an_error(item: object) -> None:
    server = OneAnswer(item)
    with pytest.raises(ObjectMalformed):
        read(server, DEPLOYMENTS, "Deployment", "shop", "web")  # type: ignore[arg-type]


class OneAnswer(NamedTuple):
    """An API server that answers everything alike."""

    answer: object

    def get(self, path: str, accept: str = "") -> object:  # noqa: ARG002 - as the real one
        return self.answer


def test_object_that_becomes_malformed_is_removed_from_the_cache() -> None:
    event = an_event("MODIFIED", "a")
    event["object"]["metadata"]["labels"] = "x"
    server = ScriptedServer(["a", "b"], [event])
    server.follow()
    assert server.seen == [None, ["a", "b"], ["b"], ["b"]]
    assert server.pauses == []


EVENTS: Final[dict[str, object]] = {
    "null": None,
    "a text": "ADDED",
    "a list": [],
    "empty": {},
    "no object": {"type": "ADDED"},
    "no type": {"object": an_item("b")},
    "a map for a type": {"type": {}, "object": None},
    "null for an object": {"type": "ADDED", "object": None},
    "an error without an object": {"type": "ERROR", "object": None},
    "no metadata": {"type": "ADDED", "object": {}},
    "a text for metadata": {"type": "ADDED", "object": {"metadata": "web"}},
    "no version": {"type": "ADDED", "object": {"metadata": {"name": "b"}}},
    "deleted, a map for a name": {
        "type": "DELETED",
        "object": {"metadata": {"name": {}, "resourceVersion": "9"}},
    },
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_malformed_event_causes_a_new_list(event: object) -> None:
    server = ScriptedServer(["a"], [event], ["a", "b"], [an_event("ADDED", "c")])
    server.follow()
    assert server.seen == [None, ["a"], None, ["a", "b"], ["a", "b", "c"], ["a", "b", "c"]]
    assert server.pauses == [1.0]


@pytest.mark.parametrize(
    "error", [TypeError(), RecursionError(), AttributeError(), MemoryError(), ZeroDivisionError()]
)
def test_error_does_not_end_the_watch(error: Exception) -> None:
    server = ScriptedServer(error, ["a"], error, ["b"])
    server.follow()
    assert server.seen == [None, None, ["a"], None, ["b"]]
    assert server.pauses == [1.0, 2.0]


_keys: Final = st.sampled_from(["type", "object", "metadata", "name", "labels", "resourceVersion"])
_scalars: Final = (
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "ADDED", "ERROR"])
)
_anything: Final = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3)
)


@given(items=_anything, event=_anything)
def test_watch_recovers_with_the_next_list_after_any_input(items: object, event: object) -> None:
    server = ScriptedServer([items], [event], BROKEN, BROKEN, ["z"], [])
    server.follow()
    assert server.watched.objects is not None or server.pauses


DEEP: Final = 3000
"""Levels; Python's own decoder gives up at a third of that, the API server at three times."""


def a_deep_item(name: str) -> bytes:
    """Return a Deployment whose managedFields somebody wrote by hand."""
    fields = b'{"f:x":' * DEEP + b"{}" + b"}" * DEEP
    entry = b'{"manager":"x","operation":"Update","fieldsV1":{"f:spec":' + fields + b"}}"
    metadata = json.dumps(an_item(name)["metadata"]).encode()[:-1]
    return b'{"metadata":' + metadata + b',"managedFields":[' + entry + b"]}}"


class _Body(NamedTuple):
    data: bytes

    def stream(self, amt: int | None) -> list[bytes]:  # noqa: ARG002 - as the real one
        return [self.data]

    def close(self) -> None:
        """Give nothing back."""


class RawServer(ApiServer):
    """Answers bodies in the order of a script, as they would come over the network."""

    def __init__(self, *script: bytes) -> None:
        access = Access("http://localhost", ssl.create_default_context())
        super().__init__(access, decode=decode_pruned)
        self._script = iter(script)

    def _request(self, request: Any, *_: object, **__: object) -> urllib3.BaseHTTPResponse:  # noqa: ANN401 - the client's own
        body = next(self._script, None) if "/deployments" in request.path else _DISCOVERY
        if body is None:
            raise EndOfScript
        return _Body(body)  # type: ignore[return-value]  # as far as it is read


_DISCOVERY: Final = b'{"resources": [{"name": "deployments", "kind": "Deployment"}]}'


def followed(*script: bytes) -> tuple[list[str] | None, list[float]]:
    """Return which objects are in memory after *script*, and the pauses that were made."""
    pauses: list[float] = []
    watched = Watched(RawServer(*script), DEPLOYMENTS, sleep=pauses.append)
    with pytest.raises(EndOfScript):
        watched.follow()
    objects = watched.objects
    return None if objects is None else sorted(name for _, name in objects), pauses


def a_body(*items: bytes) -> bytes:
    return b'{"metadata": {"resourceVersion": "5"}, "items": [' + b",".join(items) + b"]}"


WEB: Final = json.dumps(an_item("web")).encode()


def test_deeply_nested_object_removes_no_other_object() -> None:
    assert followed(a_body(a_deep_item("deep"), WEB)) == (["deep", "web"], [])


def test_deeply_nested_event_removes_no_object() -> None:
    event = b'{"type": "ADDED", "object": ' + a_deep_item("deep") + b"}\n"
    assert followed(a_body(WEB), event) == (["deep", "web"], [])


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe\x00", b"<html>", b"[" * 9999, b'{"items": [', b"null", b"[]", b"5"],
    ids=["empty", "bytes", "HTML", "an abyss", "torn", "null", "a list", "a number"],
)
def test_body_that_is_no_list_is_requested_again(body: bytes) -> None:
    assert followed(body, a_body(WEB)) == (["web"], [1.0])


@pytest.mark.parametrize(
    "line", [b"\xff\xfe\x00\n", b"<html>\n", b"[" * 9999 + b"\n", b"null\n", b"[]\n", b"5\n"]
)
def test_line_that_is_no_event_causes_a_new_list(line: bytes) -> None:
    assert followed(a_body(), line, a_body(WEB)) == (["web"], [1.0])
