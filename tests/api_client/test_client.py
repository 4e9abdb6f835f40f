"""The client of the API server, against a server that answers as a test says."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from glasswarden.cluster.client import (
    BRIEF,
    Access,
    ApiServer,
    ApiServerError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    Unreachable,
)

PATH = "/api/v1/namespaces/shop/configmaps/web"


class Sent(NamedTuple):
    """A request that arrived."""

    method: str
    target: str
    content_type: str | None
    body: Any


class Answers(ThreadingHTTPServer):
    """Answers every request alike, and keeps what was asked."""

    status = 200
    content = b"{}"
    headers: tuple[tuple[str, str], ...] = ()
    got: list[Sent]

    @property
    def access(self) -> Access:
        return Access(f"http://127.0.0.1:{self.server_port}", ssl.create_default_context())

    @property
    def client(self) -> ApiServer:
        return ApiServer(self.access, "tests")


class Handler(BaseHTTPRequestHandler):
    server: Answers

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        sent = Sent(self.command, self.path, self.headers.get("Content-Type"), body)
        self.server.got.append(sent)
        self.send_response(self.server.status)
        for name, value in self.server.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def listening() -> Iterator[Answers]:
    with Answers(("127.0.0.1", 0), Handler) as server:
        server.got = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


@pytest.fixture
def server() -> Iterator[Answers]:
    with listening() as found:
        yield found


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (401, Forbidden),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (410, Expired),
        (422, Invalid),
        (500, ApiServerError),
    ],
)
def test_each_status_is_an_error_for_the_caller(
    server: Answers, status: int, failure: type[ApiServerError]
) -> None:
    server.status, server.content = status, b'{"kind": "Status", "message": "because"}'
    with pytest.raises(failure, match=f"^GET {PATH}: because$") as caught:
        server.client.get(PATH)
    assert type(caught.value) is failure


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"[" * 100_000])
def test_an_error_that_explains_nothing_has_its_status(server: Answers, content: bytes) -> None:
    server.status, server.content = 503, content
    with pytest.raises(ApiServerError, match="HTTP 503"):
        server.client.get(PATH)


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"[" * 100_000])
def test_answer_that_is_no_object_is_an_error(server: Answers, content: bytes) -> None:
    server.content = content
    with pytest.raises(ApiServerError, match=PATH):
        server.client.get(PATH)


def test_why_a_dry_run_of_a_foreign_object_failed_is_not_quoted(server: Answers) -> None:
    server.status, server.content = 422, b'{"message": "Invalid value: hunter2"}'
    with pytest.raises(Invalid, match="HTTP 422") as caught:
        server.client.rehearse_apply(PATH, {"kind": "Secret"}, "flux")
    assert "hunter2" not in str(caught.value)


def test_writes_name_their_form(server: Answers) -> None:
    client, body = server.client, {"kind": "ConfigMap"}
    client.create(PATH, body)
    client.replace(PATH, body)
    client.merge(PATH, body)
    client.patch(PATH, [body])
    client.apply(PATH, body, dry_run=True)
    apply = "fieldManager=glasswarden&force=true&fieldValidation=Strict&dryRun=All"
    assert server.got == [
        Sent("POST", PATH, "application/json", body),
        Sent("PUT", PATH, "application/json", body),
        Sent("PATCH", PATH, "application/merge-patch+json", body),
        Sent("PATCH", PATH, "application/json-patch+json", [body]),
        Sent("PATCH", f"{PATH}?{apply}", "application/apply-patch+yaml", body),
    ]


def test_warnings_of_a_dry_run_are_returned(server: Answers) -> None:
    server.headers = (("Warning", '299 - "first"'), ("Warning", '299 - "second"'))
    assert server.client.rehearse_create(PATH, {}) == ["first", "second"]
    assert server.got[0].target == f"{PATH}?dryRun=All"


def test_what_is_absent_is_none(server: Answers) -> None:
    assert server.client.get_or_none(PATH) == {}
    assert server.client.delete(PATH)
    server.status = 404
    assert server.client.get_or_none(PATH) is None
    assert not server.client.delete(PATH)


def test_the_clock_of_the_server_is_read(server: Answers) -> None:
    assert abs((server.client.time() - datetime.now(UTC)).total_seconds()) < 60


def test_what_is_no_object_is_read_as_text(server: Answers) -> None:
    server.content = b"up 1\n\xff"
    assert server.client.text("/metrics") == "up 1\n\ufffd"


def test_closed_port_is_reported_as_unreachable() -> None:
    with listening() as server:
        client = server.client
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        client.get(PATH)


def test_a_proxy_is_asked_instead(server: Answers) -> None:
    access = Access("http://api.example", ssl.create_default_context(), proxy=server.access.server)
    ApiServer(access, "tests", patience=BRIEF).get(PATH)
    assert server.got[0].target == f"http://api.example{PATH}"
