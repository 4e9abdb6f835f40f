"""The application of one process: answers reviews directly, and everything else through Flask.

A review needs no thread and no framework: it arrives on the fast HTTP path or, if that does not
parse the request, as an ASGI scope. Flask serves probes, metrics and the version. It runs in a
thread, so a slow page never delays a review.
"""

import asyncio
import gc
import hmac
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from asgiref.wsgi import WsgiToAsgi
from flask import Flask, Response

from glasswarden import __version__
from glasswarden.cluster.client import ApiServer, NoAccess, access_in_cluster
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.keys.folder import KeysUnreadable
from glasswarden.kube.objects import decode_pruned
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.keys import open_keys
from glasswarden.ledger.spool import new_spool
from glasswarden.logs import LogFile, Sampler
from glasswarden.policy_file import PolicyUnreadable
from webhook.admission import Admission
from webhook.caches import Namespaces, Parents
from webhook.clock import ClockMonitor, TimeSource, machine_time
from webhook.context import Reader
from webhook.events import EventPublisher
from webhook.git_sources import GitSources
from webhook.metrics import (
    CERTIFICATE_EXPIRY,
    CONTENT_TYPE,
    LATENCY,
    REJECTED_REQUESTS,
    SPOOL_LIMIT,
    render_metrics,
)
from webhook.mutation import Mutation
from webhook.recording.recorder import NewSpool, Recorder
from webhook.recording.store import links_to
from webhook.reloading import GrantKeys, Rules
from webhook.review import BodyTooLarge, CallerDisconnected, ContentTypeUnknown, RequestRejected
from webhook.server.protocol import LARGEST_BODY, Reply, content_type_of
from webhook.server.tls import (
    SHOWN,
    CertificateUnusable,
    expiry_of,
    log_expiry,
    new_context,
    renew,
)
from webhook.settings import Settings


def new_pages(is_ending: Callable[[], bool]) -> Flask:
    """Return the Flask application; *is_ending* returns whether this process is stopping."""
    pages = Flask("webhook", static_folder=None)

    @pages.get("/healthz")
    def healthz() -> str:
        return "ok\n"

    @pages.get("/readyz")
    def readyz() -> tuple[str, HTTPStatus]:
        # A process accepts connections only after it has opened its ledger: an answer is readiness.
        if is_ending():
            return "ending\n", HTTPStatus.SERVICE_UNAVAILABLE
        return "ok\n", HTTPStatus.OK

    @pages.get("/metrics")
    def metrics() -> Response:
        return Response(render_metrics(), content_type=CONTENT_TYPE)

    @pages.get("/version")
    def version() -> dict[str, str]:
        return {"version": __version__}

    return pages


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Answer = Callable[[bytes], Awaitable[bytes]]

# By default, Python collects the youngest objects after every 700 allocations; a review of 1 MB has
# tens of thousands.
COLLECTOR_THRESHOLDS = (50_000, 20, 20)

_CANNOT_START = (LedgerError, CertificateUnusable, PolicyUnreadable, KeysUnreadable, NoAccess)

log = structlog.get_logger()


class Application:
    """One process's application.

    It is created before the workers fork, so that they share its memory. What belongs to one
    process (the ledger, the TLS context) is opened when the event loop of that process has started.
    """

    def __init__(self, settings: Settings, clock: TimeSource = machine_time) -> None:
        self._settings = settings
        self._clock = clock
        self.has_fast_http = settings.fast_http
        """Whether reviews that the fast HTTP path parses are answered there."""

        self.is_ending = False
        """Whether this process is stopping: it reports not ready, but still answers."""

        self._pages = WsgiToAsgi(new_pages(lambda: self.is_ending))  # type: ignore[no-untyped-call]
        self._process: _Process | None = None
        self._replies: dict[bytes, Reply] = {
            f"/validate/{settings.caller_token}".encode(): self._validate,
            f"/mutate/{settings.caller_token}".encode(): self._mutate,
        }
        self._requires_certificate = settings.client_authority is not None

    @property
    def tls(self) -> ssl.SSLContext:
        """The context of this process's listening socket."""
        return self._running.tls

    @property
    def _running(self) -> "_Process":
        if self._process is None:
            raise RuntimeError("the application has not been started")
        return self._process

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif not scope["path"].startswith(("/validate", "/mutate")):
            await self._pages(scope, receive, send)
        elif reply := self._reply_in(scope):
            await self._review(scope, receive, send, reply)
        else:
            await self._deny_caller(scope, send)

    def reply_at(self, path: bytes, *, has_certificate: bool) -> Reply | None:
        """Return the function that answers reviews at *path*; none for an unauthorized caller.

        *has_certificate*: whether the caller has a certificate of the trusted authority.
        """
        if self._requires_certificate and not has_certificate:
            return None
        # In constant time, which does not reveal how much of the path is right.
        known = (reply for each, reply in self._replies.items() if hmac.compare_digest(path, each))
        return next(known, None)

    def _reply_in(self, scope: Message) -> Reply | None:
        path = scope["path"].encode(errors="replace")
        is_post = scope["method"] == "POST"
        return self.reply_at(path, has_certificate=bool(scope.get(SHOWN))) if is_post else None

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            process = self._process = await _start(self._settings, self._clock)
        except _CANNOT_START as error:
            # gunicorn then stops all processes. An unavailable ledger is not such an error.
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await process.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _deny_caller(self, scope: Message, send: Send) -> None:
        """Deny a caller that does not know the caller token or has no certificate."""
        log.warning("unauthorized caller denied", peer=str(scope.get("client")))
        REJECTED_REQUESTS.labels(HTTPStatus.FORBIDDEN.value).inc()
        await _send_response(send, HTTPStatus.FORBIDDEN, b"not the API server")

    async def _review(self, scope: Message, receive: Receive, send: Send, reply: Reply) -> None:
        try:
            body = await _read_body(scope, receive)
        except RequestRejected as rejection:
            status, content = _reject(rejection)
        else:
            status, content = await reply(body)
        await _send_response(send, status, content)

    async def _validate(self, body: bytes) -> tuple[HTTPStatus, bytes]:
        return await _answer_review(self._running.admission.validate, body)

    async def _mutate(self, body: bytes) -> tuple[HTTPStatus, bytes]:
        return await _answer_review(self._running.mutation.mutate, body)


@dataclass(frozen=True, slots=True)
class _Process:
    """The resources of one running process."""

    admission: Admission
    mutation: Mutation
    tls: ssl.SSLContext
    tasks: tuple[asyncio.Task[None], ...]

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await self.admission.recorder.close()
        if self.admission.sources is not None:
            self.admission.sources.close()
        if self.admission.event_publisher is not None:
            self.admission.event_publisher.close()


async def _start(settings: Settings, clock: TimeSource) -> _Process:
    """Open the resources of a process; called inside its running event loop."""
    _tune_collector()
    tls = new_context(settings.certificate, settings.key, settings.client_authority)

    def publish_expiry() -> None:
        CERTIFICATE_EXPIRY.labels("serving").set(expiry_of(settings.certificate))

    publish_expiry()
    rules = Rules(settings.policy)
    server = _find_api_server(settings)
    recorder = await _open_recorder(settings, rules.policy.cluster, clock)
    reader = Reader(
        GrantKeys(settings.keys), Namespaces(server) if server else None, recorded=recorder
    )
    sampler = Sampler()
    admission = Admission(
        rules,
        recorder,
        Parents(server) if server else None,
        GitSources(server) if server else None,
        reader,
        _start_event_publisher(server) if server and settings.events else None,
        sampler,
        clock,
    )
    tasks = (
        asyncio.create_task(renew(tls, settings.certificate, settings.key, publish_expiry)),
        asyncio.create_task(log_expiry(settings.certificate)),
        asyncio.create_task(rules.follow()),
        asyncio.create_task(reader.keys.follow()),
        asyncio.create_task(recorder.deliver()),
        asyncio.create_task(ClockMonitor().follow()),
        asyncio.create_task(LogFile(settings.logging, sampler).follow()),
    )
    return _Process(admission, Mutation(rules, reader, clock), tls, tasks)


def _start_event_publisher(server: ApiServer) -> EventPublisher:
    publisher = EventPublisher(server)
    publisher.start()
    return publisher


async def _open_recorder(settings: Settings, cluster: str, clock: TimeSource) -> Recorder:
    """Return the recorder of this process, with its chain started."""
    writer = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
    keys = open_keys(settings.keys)
    link, delivery = links_to(settings.ledger)
    recorder = Recorder(link, writer, cluster, keys, _spool_factory_of(settings), clock, delivery)
    await recorder.open()
    if settings.spool is not None:
        SPOOL_LIMIT.set(settings.spool_bytes)
        await recorder.store.adopt(settings.spool)
    return recorder


def _spool_factory_of(settings: Settings) -> NewSpool | None:
    folder = settings.spool
    if folder is None:
        return None
    return lambda writer: new_spool(folder, writer, settings.spool_bytes)


def _tune_collector() -> None:
    """Make garbage collections rare: reviews create no reference cycles.

    Objects that were loaded so far stay in memory, so they are excluded from collections.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def _find_api_server(settings: Settings) -> ApiServer | None:
    """Return the API server for lookups and Events, if there is access to it."""
    if settings.kubeconfig is not None:
        return ApiServer(access_from(settings.kubeconfig, settings.choice), decode=decode_pruned)
    try:
        return ApiServer(access_in_cluster(settings.choice.headers), decode=decode_pruned)
    except NoAccess as error:
        log.warning("no access to the API server", reason=str(error), effect="scale is not guarded")
        return None


async def _answer_review(answer: Answer, body: bytes) -> tuple[HTTPStatus, bytes]:
    """Return the answer to the review in *body*, or the reason why there is none."""
    start = time.perf_counter()
    try:
        content = await answer(body)
    except RequestRejected as rejection:
        return _reject(rejection)
    except Exception:
        # The outermost edge: the API server's failurePolicy decides, never a silent allow.
        log.exception("review failed")
        REJECTED_REQUESTS.labels(HTTPStatus.INTERNAL_SERVER_ERROR.value).inc()
        return HTTPStatus.INTERNAL_SERVER_ERROR, b"internal error"
    LATENCY.observe(time.perf_counter() - start)
    return HTTPStatus.OK, content


def _reject(rejection: RequestRejected) -> tuple[HTTPStatus, bytes]:
    log.warning("request rejected", status=rejection.status.value, reason=str(rejection))
    REJECTED_REQUESTS.labels(rejection.status.value).inc()
    return rejection.status, str(rejection).encode()


async def _read_body(scope: Message, receive: Receive) -> bytes:
    """Return the complete body; raise before more of it is in memory than a review may have."""
    headers = dict(scope["headers"])
    content_type = headers.get(b"content-type", b"")
    if content_type.partition(b";")[0].strip() != b"application/json":
        raise ContentTypeUnknown("the content type must be application/json")
    if int(headers.get(b"content-length", b"0")) > LARGEST_BODY:
        raise BodyTooLarge(f"a review is at most {LARGEST_BODY} bytes")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerDisconnected("the caller disconnected")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            raise BodyTooLarge(f"a review is at most {LARGEST_BODY} bytes")
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send_response(send: Send, status: HTTPStatus, content: bytes) -> None:
    headers = [
        (b"content-type", content_type_of(status)),
        (b"content-length", str(len(content)).encode()),
    ]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": content})
