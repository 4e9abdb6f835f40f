"""The fast HTTP path takes what the API server sends, and nothing ambiguous."""

import asyncio
import json
import os
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger

from glasswarden.demo.stage import HOST, Stage
from tests.cluster.processes import LOOPBACK
from tests.cluster.retries import eventually
from tests.webhook.builders import a_review
from tests.webhook.serving import open_webhook
from tests.webhook.workers import Webhook
from webhook.server.fast_http import FastProtocol, Head, parse_head
from webhook.server.protocol import LARGEST_BODY, Reply

FIELDS = (
    "Host: glasswarden-webhook.glasswarden.svc:443",
    "User-Agent: kube-apiserver-admission",
    "Content-Length: 7",
    "Accept: application/json, */*",
    "Content-Type: application/json",
    "Accept-Encoding: gzip",
)
"""As Go's client in the API server writes them."""


LINE = "POST /validate/x?timeout=5s HTTP/1.1"


def a_head(*more: str, line: str = LINE, leave: str = "") -> bytes:
    fields = [each for each in FIELDS if not leave or not each.startswith(leave)]
    return "\r\n".join((line, *fields, *more, "", "")).encode()


def test_request_of_the_api_server_is_parsed() -> None:
    head = a_head()
    assert parse_head(head + b"{}") == Head(b"/validate/x", 7, len(head))


def test_request_with_a_trace_header_is_parsed() -> None:
    assert parse_head(a_head("Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b71692033-01"))


LONG_WAY = {
    "nothing": b"",
    "half a head": a_head()[:-2],
    "another method": a_head(line="GET /validate/x HTTP/1.1"),
    "another version": a_head(line="POST /validate/x HTTP/1.0"),
    "two spaces": a_head(line="POST  /validate/x HTTP/1.1"),
    "an absolute address": a_head(line="POST https://x/validate/x HTTP/1.1"),
    "a fragment in the dark": a_head(line="POST /validate/\x00 HTTP/1.1"),
    "line feeds alone": a_head().replace(b"\r\n", b"\n"),
    "a folded line": a_head("Accept: a\r\n b"),
    "a space before the colon": a_head("Baggage : a=b"),
    "no host": a_head(leave="Host"),
    "no length": a_head(leave="Content-Length"),
    "two lengths": a_head("Content-Length: 7"),
    "two lengths that differ in case": a_head("content-length: 8"),
    "a signed length": a_head("Content-Length: +7", leave="Content-Length"),
    "a list of lengths": a_head("Content-Length: 7, 7", leave="Content-Length"),
    "too long": a_head(f"Content-Length: {LARGEST_BODY + 1}", leave="Content-Length"),
    "chunks": a_head("Transfer-Encoding: chunked"),
    "an expectation": a_head("Expect: 100-continue"),
    "an upgrade": a_head("Upgrade: h2c"),
    "the last one": a_head("Connection: close"),
    "zipped": a_head("Content-Encoding: gzip"),
    "another type": a_head("Content-Type: text/json", leave="Content-Type"),
    "no type": a_head(leave="Content-Type"),
}


@pytest.mark.parametrize("data", LONG_WAY.values(), ids=LONG_WAY)
def test_other_requests_are_left_to_the_regular_parser(data: bytes) -> None:
    assert parse_head(data) is None


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_webhook(tmp_path_factory.mktemp("lane")) as running:
        yield running


@pytest.fixture
def caller(stage: Stage) -> Iterator[ssl.SSLSocket]:
    context = ssl.create_default_context(cafile=stage.certificates.authority)
    plain = socket.create_connection((HOST, stage.port), timeout=10)
    with closing(context.wrap_socket(plain, server_hostname=HOST)) as connection:
        yield connection


def request_of(path: str, name: str, *fields: str) -> bytes:
    """Return a review as it is sent, under a uid by which its answer is known."""
    body = a_review(uid=name)
    head = (f"POST {path}?timeout=5s HTTP/1.1", *FIELDS[:2], *FIELDS[3:], *fields)
    return "\r\n".join((*head, f"Content-Length: {len(body)}", "", "")).encode() + body


def answers(connection: ssl.SSLSocket, count: int) -> list[str]:
    """Return the uids of the next answers, in the order in which they came."""
    data, found = b"", list[str]()
    while len(found) < count:
        received = connection.recv(65536)
        assert received, data
        data += received
        while b"\r\n\r\n" in data:
            head, _, rest = data.partition(b"\r\n\r\n")
            lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            length = int(lines[b"content-length"])
            if len(rest) < length:
                break
            assert head.startswith(b"HTTP/1.1 200 ")
            assert b"date" in lines
            found.append(json.loads(rest[:length])["response"]["uid"])
            data = rest[length:]
    return found


def test_body_in_pieces_is_answered(stage: Stage, caller: ssl.SSLSocket) -> None:
    whole = request_of(stage.path_of(), "in-pieces")
    step = len(whole) // 3
    for start in range(0, len(whole), step):
        caller.sendall(whole[start : start + step])
        time.sleep(0.02)
    assert answers(caller, 1) == ["in-pieces"]


def test_pipelined_reviews_are_answered_in_order(stage: Stage, caller: ssl.SSLSocket) -> None:
    names = [f"ahead-{number}" for number in range(20)]
    caller.sendall(b"".join(request_of(stage.path_of(), name) for name in names))
    assert answers(caller, len(names)) == names


def test_connection_is_served_after_leaving_the_fast_path(
    stage: Stage, caller: ssl.SSLSocket
) -> None:
    for name, more in (("lane", ()), ("long", ("Cache-Control: no-cache",)), ("after", ())):
        caller.sendall(request_of(stage.path_of(), name, *more))
        assert answers(caller, 1) == [name]


def test_pipelined_requests_are_served_after_leaving_the_fast_path(
    stage: Stage, caller: ssl.SSLSocket
) -> None:
    path = stage.path_of()
    caller.sendall(request_of(path, "lane") + request_of(path, "long", "Cache-Control: no-cache"))
    assert answers(caller, 2) == ["lane", "long"]


def test_caller_that_disconnects_early_affects_no_other(
    stage: Stage, caller: ssl.SSLSocket
) -> None:
    context = ssl.create_default_context(cafile=stage.certificates.authority)
    for _ in range(5):
        plain = socket.create_connection((HOST, stage.port), timeout=10)
        with closing(context.wrap_socket(plain, server_hostname=HOST)) as rude:
            rude.sendall(request_of(stage.path_of(), "rude")[:-100])
    caller.sendall(request_of(stage.path_of(), "patient"))
    assert answers(caller, 1) == ["patient"]


def test_wrong_path_is_rejected(caller: ssl.SSLSocket) -> None:
    caller.sendall(request_of("/validate/guess", "stranger"))
    assert caller.recv(65536).startswith(b"HTTP/1.1 403 ")


@pytest.mark.slow
def test_connection_on_the_fast_path_is_closed_when_the_webhook_stops(tmp_path: Path) -> None:
    with Webhook(tmp_path, f"sqlite://{tmp_path}/ledger.db") as webhook:
        plain = socket.create_connection((LOOPBACK, webhook.port), timeout=10)
        with closing(webhook.tls.wrap_socket(plain, server_hostname=LOOPBACK)) as connection:
            connection.sendall(request_of(webhook.path, "before"))
            assert answers(connection, 1) == ["before"]
            os.kill(webhook.process.pid, signal.SIGTERM)

            def is_told() -> bool:
                connection.sendall(request_of(webhook.path, "on the way"))
                return b"\r\nconnection: close\r\n" in connection.recv(65536)

            eventually(is_told, "the last answer")
            assert connection.recv(1) == b""


KEEP_ALIVE = 1


class Answering:
    """An application that takes its time over each review."""

    def reply_at(self, path: bytes, *, has_certificate: bool) -> Reply | None:
        assert not has_certificate
        return self.reply if path == b"/validate/x" else None

    async def reply(self, body: bytes) -> tuple[HTTPStatus, bytes]:
        await asyncio.sleep(2 * KEEP_ALIVE)
        return HTTPStatus.OK, body


def test_idle_connection_is_closed_after_the_timeout_and_not_before() -> None:
    asyncio.run(_answered_then_silent())


async def _answered_then_silent() -> None:
    loop, config = asyncio.get_running_loop(), Config()
    config.set("keepalive", KEEP_ALIVE)
    worker = SimpleNamespace(
        cfg=config, log=Logger(config), asgi=Answering(), loop=loop, nr_conns=0, alive=True
    )
    server = await loop.create_server(lambda: FastProtocol(worker), LOOPBACK, 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(a_head() + b"1234567")
        answer = await asyncio.wait_for(reader.read(65536), 10)
        assert answer.endswith(b"\r\n\r\n1234567"), "what is being answered is not silent"
        begun = loop.time()
        assert await asyncio.wait_for(reader.read(), 10) == b""
        assert loop.time() - begun > KEEP_ALIVE / 2
        writer.close()
    assert worker.nr_conns == 0
