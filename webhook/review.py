"""Parses an AdmissionReview from untrusted bytes, and renders the answer.

Nothing here decides anything: `write_builder` makes a `Write` of the parsed request. A request that
cannot be answered raises a `RequestRejected`, which has the HTTP status.
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


class RequestRejected(Exception):
    """A request that cannot be answered as a review. Rejecting it never allows a write."""

    status = HTTPStatus.BAD_REQUEST


class ReviewMalformed(RequestRejected):
    """The body is not an AdmissionReview of a known version."""


class BodyTooLarge(RequestRejected):
    """The body is larger than any review that an API server sends."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class ContentTypeUnknown(RequestRejected):
    """The content type is not JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class OwnerUndetermined(RequestRejected):
    """The owner of the object could not be determined: the API server's failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class RecorderOverloaded(RequestRejected):
    """Too many writes wait to be recorded in this process: the failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class RecorderClosed(RequestRejected):
    """The process is stopping and records nothing more: the failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class CallerDisconnected(RequestRejected):
    """The caller disconnected before the complete body arrived; nobody reads the answer."""


class UserInfo(msgspec.Struct, frozen=True):
    """Who writes, as the API server authenticated it."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """The options of the original request, as far as they identify the writer."""

    field_manager: str = ""


class Resource(msgspec.Struct, frozen=True):
    """The resource that was written to, as in its URL."""

    group: str = ""
    version: str = ""
    resource: str = ""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of an AdmissionRequest that decisions use; others are ignored."""

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
    """An AdmissionReview of the version that the webhook is registered for."""

    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: Request


_REQUIRED_FIELDS: Final = {
    Operation.CREATE: ("object",),
    Operation.UPDATE: ("object", "old_object"),
    Operation.DELETE: ("old_object",),
    Operation.CONNECT: ("object",),
}
"""Fields that the API server always sends: an update without them would appear to be no change."""

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


def parse_review(body: bytes) -> Request:
    """Return the request inside *body*, or raise `ReviewMalformed` with the reason."""
    try:
        request = msgspec.convert(_decode_json(body), Review).request
    except (ValueError, RecursionError) as error:
        raise ReviewMalformed(f"not an admission.k8s.io/v1 AdmissionReview: {error}") from error
    for field in _REQUIRED_FIELDS[request.operation]:
        if getattr(request, field) is None:
            name = "oldObject" if field == "old_object" else field
            raise ReviewMalformed(f"the review of a {request.operation} has no {name}")
    return request


def _decode_json(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON in *body*; raise `ValueError` if it is not JSON or repeats a key.

    If a key is repeated, some readers use the first value and others the last, so the review would
    be ambiguous. Decoding drops one of them; a body that encodes to the same bytes therefore
    repeats no key. Only other spellings are checked key by key, which is much slower.
    """
    value = _decoder.decode(body)
    encoded = _encoder.encode(value)
    if encoded not in (body, body[:-1]) and encoded != _normalize_spelling(body):
        json.loads(body, object_pairs_hook=_reject_repeated_keys)
    return value


def _normalize_spelling(body: bytes) -> bytes:
    """Return *body* without the escapes of Go's encoder (`<`, `>`, `&`) and its last line feed."""
    for escaped, plain in ((rb"\u003c", b"<"), (rb"\u003e", b">"), (rb"\u0026", b"&")):
        body = body.replace(escaped, plain)
    return body.rstrip(b"\n")


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) != len({key for key, _ in pairs}):
        raise ValueError("an object has the same key twice")


_FORBIDDEN: Final = {"code": HTTPStatus.FORBIDDEN, "reason": "Forbidden"}
_UNAVAILABLE: Final = {"code": HTTPStatus.SERVICE_UNAVAILABLE, "reason": "ServiceUnavailable"}


def render_answer(
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
    return _encode_review(response)


def render_patch_answer(uid: str, patch: list[dict[str, Any]]) -> bytes:
    """Return the AdmissionReview that allows a write and applies *patch* (RFC 6902) to it."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(_encoder.encode(patch)).decode()
    return _encode_review(response)


def _encode_review(response: dict[str, Any]) -> bytes:
    return _encoder.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    )
