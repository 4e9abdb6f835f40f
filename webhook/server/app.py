"""The application: reviews on the short way, everything else through Flask.

A review crosses no thread and no framework: it comes by `lane`, or, if it is sent in a way that is
not understood there, as an ASGI scope. Flask serves what people and probes ask for; it is reached
through a thread, so a slow page never stands before a review.

What Flask serves: the answers to probes and to the curious.
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
from webhook.clock import Clock, TimeSource, machine_time
from webhook.context import Reader
from webhook.events import Herald
from webhook.git_sources import Sources
from webhook.metrics import (
    CERTIFICATE_EXPIRY,
    CONTENT_TYPE,
    LATENCY,
    REFUSALS,
    SPOOL_LIMIT,
    exposition,
)
from webhook.mutation import Mutation
from webhook.recording.recorder import NewSpool, Recorder
from webhook.recording.store import links_to
from webhook.reloading import GrantKeys, Rules
from webhook.review import BodyTooLarge, CallerGone, ContentTypeUnknown, RequestRefused
from webhook.server.fast_http import LARGEST_BODY, Reply, content_type
from webhook.server.tls import (
    SHOWN,
    CertificateUnusable,
    expiry_of,
    new_context,
    renew,
    tell_expiry,
)
from webhook.settings import Settings


def new_pages(is_ending: Callable[[], bool]) -> Flask:
    """Return the Flask application beside the hot path; *is_ending* tells of this process."""
    pages = Flask("webhook", static_folder=None)

    @pages.get("/healthz")
    def healthz() -> str:
        return "ok\n"

    @pages.get("/readyz")
    def readyz() -> tuple[str, HTTPStatus]:
        # A process accepts connections only after its ledger was opened: an answer is readiness.
        if is_ending():
            return "ending\n", HTTPStatus.SERVICE_UNAVAILABLE
        return "ok\n", HTTPStatus.OK

    @pages.get("/metrics")
    def metrics() -> Response:
        return Response(exposition(), content_type=CONTENT_TYPE)

    @pages.get("/version")
    def version() -> dict[str, str]:
        return {"version": __version__}

    return pages


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Answer = Callable[[bytes], Awaitable[bytes]]

# Python's default looks at the youngest objects for every 700 that come; a review of 1 MB has tens
# of thousands.
COLLECTOR_THRESHOLDS = (50_000, 20, 20)

_CANNOT_START = (LedgerError, CertificateUnusable, PolicyUnreadable, KeysUnreadable, NoAccess)

log = structlog.get_logger()


class Application:
    """One process's application.

    Made before the workers fork, so that they share its memory; what belongs to one process (the
    ledger, the TLS context) is opened when that process's event loop has started.
    """

    def __init__(self, settings: Settings, clock: TimeSource = machine_time) -> None:
        self._settings = settings
        self._clock = clock
        self.is_ending = False
        """Whether nobody new should be sent here; who comes all the same is answered."""

        self._pages = WsgiToAsgi(new_pages(lambda: self.is_ending))  # type: ignore[no-untyped-call]
        self._process: _Process | None = None
        self._replies: dict[bytes, Reply] = {
            f"/validate/{settings.caller_token}".encode(): self._validated,
            f"/mutate/{settings.caller_token}".encode(): self._mutated,
        }
        self._asks_for_certificates = settings.client_authority is not None

    @property
    def tls(self) -> ssl.SSLContext:
        """The context of this process's listening socket."""
        return self._started.tls

    @property
    def _started(self) -> "_Process":
        if self._process is None:
            raise RuntimeError("the application has not been started")
        return self._process

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif not scope["path"].startswith(("/validate", "/mutate")):
            await self._pages(scope, receive, send)
        elif reply := self._reply_in(scope):
            await self._review(scope, receive, send, reply)
        else:
            await self._turn_away(scope, send)

    def reply_at(self, path: bytes, *, is_shown: bool) -> Reply | None:
        """Return what answers the reviews that are posted to *path*; none where that is not ours.

        *is_shown* tells whether the caller showed a certificate that we trust.
        """
        if self._asks_for_certificates and not is_shown:
            return None
        # In a time that does not tell how much of the path is right.
        known = (reply for each, reply in self._replies.items() if hmac.compare_digest(path, each))
        return next(known, None)

    def _reply_in(self, scope: Message) -> Reply | None:
        path = scope["path"].encode(errors="replace")
        is_post = scope["method"] == "POST"
        return self.reply_at(path, is_shown=bool(scope.get(SHOWN))) if is_post else None

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            process = self._process = await _start(self._settings, self._clock)
        except _CANNOT_START as error:
            # gunicorn stops altogether on this. A ledger that is only away is no such reason.
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await process.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _turn_away(self, scope: Message, send: Send) -> None:
        """Refuse somebody who does not know where the API server calls, or has no certificate."""
        log.warning("stranger turned away", peer=str(scope.get("client")))
        REFUSALS.labels(HTTPStatus.FORBIDDEN.value).inc()
        await _respond(send, HTTPStatus.FORBIDDEN, b"not the API server")

    async def _review(self, scope: Message, receive: Receive, send: Send, reply: Reply) -> None:
        try:
            body = await _read(scope, receive)
        except RequestRefused as refusal:
            status, content = _refused(refusal)
        else:
            status, content = await reply(body)
        await _respond(send, status, content)

    async def _validated(self, body: bytes) -> tuple[HTTPStatus, bytes]:
        return await _answered(self._started.admission.validate, body)

    async def _mutated(self, body: bytes) -> tuple[HTTPStatus, bytes]:
        return await _answered(self._started.mutation.mutate, body)


@dataclass(frozen=True, slots=True)
class _Process:
    """What one started process holds."""

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
        if self.admission.herald is not None:
            self.admission.herald.close()


async def _start(settings: Settings, clock: TimeSource) -> _Process:
    """Open what a process needs; called inside its running event loop."""
    _calm_the_collector()
    tls = new_context(settings.certificate, settings.key, settings.client_authority)

    def show_expiry() -> None:
        CERTIFICATE_EXPIRY.labels("serving").set(expiry_of(settings.certificate))

    show_expiry()
    rules = Rules(settings.policy)
    server = _api_server(settings)
    recorder = await _recorder(settings, rules.policy.cluster, clock)
    reader = Reader(
        GrantKeys(settings.keys), Namespaces(server) if server else None, recorded=recorder
    )
    sampler = Sampler()
    admission = Admission(
        rules,
        recorder,
        Parents(server) if server else None,
        Sources(server) if server else None,
        reader,
        _herald(server) if server and settings.events else None,
        sampler,
        clock,
    )
    tasks = (
        asyncio.create_task(renew(tls, settings.certificate, settings.key, show_expiry)),
        asyncio.create_task(tell_expiry(settings.certificate)),
        asyncio.create_task(rules.follow()),
        asyncio.create_task(reader.keys.follow()),
        asyncio.create_task(recorder.deliver()),
        asyncio.create_task(Clock().follow()),
        asyncio.create_task(LogFile(settings.logging, sampler).follow()),
    )
    return _Process(admission, Mutation(rules, reader, clock), tls, tasks)


def _herald(server: ApiServer) -> Herald:
    herald = Herald(server)
    herald.start()
    return herald


async def _recorder(settings: Settings, cluster: str, clock: TimeSource) -> Recorder:
    """Return this process's way into the ledger, its chain begun."""
    writer = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
    keys = open_keys(settings.keys)
    link, delivery = links_to(settings.ledger)
    recorder = Recorder(link, writer, cluster, keys, _spools(settings), clock, delivery)
    await recorder.open()
    if settings.spool is not None:
        SPOOL_LIMIT.set(settings.spool_bytes)
        await recorder.store.adopt(settings.spool)
    return recorder


def _spools(settings: Settings) -> NewSpool | None:
    folder = settings.spool
    if folder is None:
        return None
    return lambda writer: new_spool(folder, writer, settings.spool_bytes)


def _calm_the_collector() -> None:
    """Have the garbage collector look at reviews, which make no cycles, far less often.

    What was loaded so far stays for good: it need not be looked through again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def _api_server(settings: Settings) -> ApiServer | None:
    """Return the API server to look things up in, if there is a way to it."""
    if settings.kubeconfig is not None:
        return ApiServer(access_from(settings.kubeconfig, settings.choice), decode=decode_pruned)
    try:
        return ApiServer(access_in_cluster(settings.choice.headers), decode=decode_pruned)
    except NoAccess as error:
        log.warning("no access to the API server", reason=str(error), effect="scale is not guarded")
        return None


async def _answered(answer: Answer, body: bytes) -> tuple[HTTPStatus, bytes]:
    """Return the answer to the review in *body*, or why there is none."""
    start = time.perf_counter()
    try:
        content = await answer(body)
    except RequestRefused as refusal:
        return _refused(refusal)
    except Exception:
        # The outermost edge: the API server's failurePolicy decides, never a silent allow.
        log.exception("review failed")
        REFUSALS.labels(HTTPStatus.INTERNAL_SERVER_ERROR.value).inc()
        return HTTPStatus.INTERNAL_SERVER_ERROR, b"internal error"
    LATENCY.observe(time.perf_counter() - start)
    return HTTPStatus.OK, content


def _refused(refusal: RequestRefused) -> tuple[HTTPStatus, bytes]:
    log.warning("review refused", status=refusal.status.value, reason=str(refusal))
    REFUSALS.labels(refusal.status.value).inc()
    return refusal.status, str(refusal).encode()


async def _read(scope: Message, receive: Receive) -> bytes:
    """Return the whole body, or raise before more of it is held than a review can be."""
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
            raise CallerGone("the caller hung up")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            raise BodyTooLarge(f"a review is at most {LARGEST_BODY} bytes")
        if not message.get("more_body", False):
            return b"".join(parts)


async def _respond(send: Send, status: HTTPStatus, content: bytes) -> None:
    headers = [
        (b"content-type", content_type(status)),
        (b"content-length", str(len(content)).encode()),
    ]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": content})
