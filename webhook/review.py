"""The AdmissionReview: untrusted bytes in, typed values out, and an answer's bytes back.

Nothing here decides anything: `writes` makes a `Write` of what is read here.

What is wrong with a caller's request, with the HTTP status that says so.
"""

import base64
import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

import msgspec

from glasswarden.kube.objects import Object
from glasswarden.policy.decision import Decision
from glasswarden.policy.types import Operation


class RequestRefused(Exception):
    """A request that is no review we can answer. Refusing it never allows a write."""

    status = HTTPStatus.BAD_REQUEST


class ReviewMalformed(RequestRefused):
    """The body is no AdmissionReview of a version that we know."""


class BodyTooLarge(RequestRefused):
    """The body is larger than any review that an API server sends."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class ContentTypeUnknown(RequestRefused):
    """The body does not say that it is JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class CannotTell(RequestRefused):
    """Whose object is written to could not be found out: the API server's failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class RecorderOverloaded(RequestRefused):
    """More writes wait to be recorded than a process holds: the failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class RecorderClosed(RequestRefused):
    """The process is about to end and records nothing more: the failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class CallerGone(RequestRefused):
    """The caller hung up before the whole body came; nobody reads the answer."""


class UserInfo(msgspec.Struct, frozen=True):
    """Who writes, as the API server authenticated it."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """The options of the original request, as far as they say who writes."""

    field_manager: str = ""


class Resource(msgspec.Struct, frozen=True):
    """What was written to, as it stands in a URL."""

    group: str = ""
    version: str = ""
    resource: str = ""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """What of an AdmissionRequest the guard goes by; the rest is passed over undecoded."""

    uid: str
    operation: Operation
    user_info: UserInfo
    resource: Resource = Resource()
    sub_resource: str = ""
    object: Object | None = None
    old_object: Object | None = None
    dry_run: bool = False
    options: Options | None = None


class Review(msgspec.Struct, frozen=True, rename="camel"):
    """An AdmissionReview of the one version that the webhook is registered for."""

    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: Request


_NEEDED: Final = {
    Operation.CREATE: ("object",),
    Operation.UPDATE: ("object", "old_object"),
    Operation.DELETE: ("old_object",),
    Operation.CONNECT: ("object",),
}
"""What the API server always sends: without it, an update would look as if it changed nothing."""

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


def parse_review(body: bytes) -> Request:
    """Return the request inside *body*, or raise `ReviewMalformed` saying what is wrong with it."""
    try:
        request = msgspec.convert(_decoded(body), Review).request
    except (ValueError, RecursionError) as error:
        raise ReviewMalformed(f"not an admission.k8s.io/v1 AdmissionReview: {error}") from error
    for field in _NEEDED[request.operation]:
        if getattr(request, field) is None:
            name = "oldObject" if field == "old_object" else field
            raise ReviewMalformed(f"the review of a {request.operation} holds no {name}")
    return request


def _decoded(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON in *body*; raise `ValueError` where it is none, or names a key twice.

    Of two equal keys one reader takes the first and another the last: a review that means two
    things is no review. Decoding drops one of them, so what encodes to the same bytes has none;
    only what is spelled in yet another way is looked at key by key, which takes far longer.
    """
    value = _decoder.decode(body)
    encoded = _encoder.encode(value)
    if encoded not in (body, body[:-1]) and encoded != _as_we_spell(body):
        json.loads(body, object_pairs_hook=_without_repeats)
    return value


def _as_we_spell(body: bytes) -> bytes:
    """Return *body* without the ways of Go's encoder: a last line feed, and no `<`, `>` or `&`."""
    for escaped, plain in ((rb"\u003c", b"<"), (rb"\u003e", b">"), (rb"\u0026", b"&")):
        body = body.replace(escaped, plain)
    return body.rstrip(b"\n")


def _without_repeats(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) != len({key for key, _ in pairs}):
        raise ValueError("a key stands twice in one object")


_FORBIDDEN: Final = {"code": HTTPStatus.FORBIDDEN, "reason": "Forbidden"}
_UNAVAILABLE: Final = {"code": HTTPStatus.SERVICE_UNAVAILABLE, "reason": "ServiceUnavailable"}


def answer(
    uid: str,
    decision: Decision,
    audit: dict[str, str],
    message: str = "",
    warnings: Sequence[str] = (),
) -> bytes:
    """Return the AdmissionReview that carries *decision* back, with what the writer reads about it.

    *audit* enters the audit log.
    """
    response: dict[str, Any] = {"uid": uid, "allowed": decision.allowed}
    if not decision.allowed:
        response["status"] = {
            **(_UNAVAILABLE if decision.unavailable else _FORBIDDEN),
            "message": message,
        }
    if warnings:
        response["warnings"] = warnings
    if audit:
        response["auditAnnotations"] = audit
    return _as_review(response)


def patched(uid: str, patch: list[dict[str, Any]]) -> bytes:
    """Return the AdmissionReview that allows a write, with *patch* (RFC 6902) made to it."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(_encoder.encode(patch)).decode()
    return _as_review(response)


def _as_review(response: dict[str, Any]) -> bytes:
    return _encoder.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    )
