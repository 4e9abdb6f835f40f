"""`--no-fast-http` turns the fast HTTP path off; a caller gets the same answers either way."""

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from glasswarden.demo.stage import Stage
from tests.webhook.builders import a_deployment, a_review
from tests.webhook.serving import connected, open_webhook
from webhook.server.protocol import LARGEST_BODY


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and the status that answers it."""

    body: bytes
    status: int = 200
    endpoint: str = "validate"
    method: str = "POST"
    content_type: str = "application/json"
    has_token: bool = True


CALLS = {
    "a denied write": Call(a_review()),
    "a dry run": Call(a_review(dryRun=True)),
    "a write without a change": Call(a_review(object=a_deployment(replicas=3))),
    "a write to an unmanaged object": Call(a_review(oldObject=a_deployment(labels={}))),
    "the write of a trusted controller": Call(
        a_review(userInfo={"username": "system:serviceaccount:flux-system:kustomize-controller"})
    ),
    "a delete": Call(a_review(operation="DELETE", object=None)),
    "an object with text that is not ASCII": Call(a_review(uid="Größe <&> \u2028")),
    "a large object": Call(a_review(object=a_deployment(labels={"a": "x" * 1_000_000}))),
    "a mutation": Call(a_review(), endpoint="mutate"),
    "no body": Call(b"", 400),
    "a body that is not JSON": Call(b"{", 400),
    "JSON that is not a review": Call(b"[]", 400),
    "a review without an object": Call(a_review(object=None), 400),
    "a repeated key": Call(a_review().replace(b'"uid"', b'"uid": "1", "uid"', 1), 400),
    "a mutation that is not JSON": Call(b"{", 400, endpoint="mutate"),
    "another content type": Call(a_review(), 415, content_type="text/json"),
    "a content type with a parameter": Call(
        a_review(), content_type="application/json; charset=utf-8"
    ),
    "too large a body": Call(b" " * (LARGEST_BODY + 1), 413),
    "another method": Call(a_review(), 403, method="PUT"),
    "no caller token": Call(a_review(), 403, has_token=False),
    "a mutation without a caller token": Call(a_review(), 403, endpoint="mutate", has_token=False),
    "a probe": Call(b"", endpoint="readyz", method="GET", has_token=False),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a caller receives, without what differs between any two answers."""

    status: int
    content_type: str | None
    content: Any


def send(connection: http.client.HTTPSConnection, stage: Stage, call: Call) -> Answer:
    path = (
        f"/{call.endpoint}/{stage.path_of().rpartition('/')[2]}"
        if call.has_token
        else f"/{call.endpoint}"
    )
    connection.request(call.method, path, call.body, {"Content-Type": call.content_type})
    response = connection.getresponse()
    content_type, content = response.getheader("content-type"), response.read()
    assert response.getheader("content-length") == str(len(content))
    if response.status == 200 and content_type == "application/json":
        return Answer(response.status, content_type, without_record_id(json.loads(content)))
    return Answer(response.status, content_type, content)


def without_record_id(review: dict[str, Any]) -> dict[str, Any]:
    """Return *review* with the number of its audit annotations: they contain the record's id."""
    response = review["response"]
    return review | {
        "response": response | {"auditAnnotations": len(response.get("auditAnnotations", {}))}
    }


@pytest.fixture(scope="module")
def with_fast_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_webhook(tmp_path_factory.mktemp("fast")) as running:
        yield running


@pytest.fixture(scope="module")
def without_fast_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_webhook(tmp_path_factory.mktemp("plain"), "--no-fast-http") as running:
        yield running


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_request_gets_the_same_answer_with_and_without_the_fast_http_path(
    with_fast_http: Stage, without_fast_http: Stage, call: Call
) -> None:
    answers = []
    for stage in (with_fast_http, without_fast_http):
        with connected(stage) as connection:
            answers.append(send(connection, stage, call))
    assert answers[0] == answers[1]
    assert answers[0].status == call.status


def test_one_connection_gets_the_same_answers_to_many_requests(
    with_fast_http: Stage, without_fast_http: Stage
) -> None:
    """The first request that the fast HTTP path does not parse ends it for that connection."""
    # For other statuses, gunicorn answers before it has read the body, and may then disconnect.
    sent = [call for call in CALLS.values() if call.status in {200, 400}]
    answers = []
    for stage in (with_fast_http, without_fast_http):
        with connected(stage) as connection:
            answers.append([send(connection, stage, call) for call in sent])
    assert answers[0] == answers[1]


def test_without_the_fast_http_path_gunicorn_answers_reviews(
    with_fast_http: Stage, without_fast_http: Stage
) -> None:
    assert (server_of(with_fast_http), server_of(without_fast_http)) == (None, "gunicorn/asgi")


def server_of(stage: Stage) -> str | None:
    """Return the header by which gunicorn names itself in its answers."""
    with connected(stage) as connection:
        connection.request(
            "POST", stage.path_of(), a_review(), {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        response.read()
        return response.getheader("server")
