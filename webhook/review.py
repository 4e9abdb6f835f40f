"""The AdmissionReview: untrusted bytes in, a `Write` out; a `Decision` in, answer bytes out.

Kubernetes' names end here: what this module returns speaks of actors, owners and changes.
"""

from http import HTTPStatus
from typing import Any, Literal

import msgspec

from glasswarden.kube.diff import Change, changes
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.owners import owner_of
from glasswarden.policy.decision import Decision
from glasswarden.policy.write import Actor, Operation, Write
from webhook.errors import ReviewMalformed


class UserInfo(msgspec.Struct, frozen=True):
    """Who writes, as the API server authenticated it."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """The options of the original request, as far as they say who writes."""

    field_manager: str = ""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """What of an AdmissionRequest the guard goes by; the rest is passed over undecoded."""

    uid: str
    operation: Operation
    user_info: UserInfo
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


_decoder = msgspec.json.Decoder(Review)
_encoder = msgspec.json.Encoder()


def parse_review(body: bytes) -> Request:
    """Return the request inside *body*, or raise `ReviewMalformed` saying what is wrong with it."""
    try:
        request = _decoder.decode(body).request
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewMalformed(f"not an admission.k8s.io/v1 AdmissionReview: {error}") from error
    if request.object is None and request.old_object is None:
        raise ReviewMalformed("the review holds neither object nor oldObject")
    return request


def write_of(request: Request) -> Write:
    """Return the write that *request* asks about."""
    # What the object *was* decides whose it is: taking the mark off does not set it free.
    subject = request.old_object or request.object or {}
    owner = owner_of(subject)
    manager = request.options.field_manager if request.options else ""
    # Nobody asks what changed in an object that nobody owns.
    changed = _changes(request, manager) if owner else ()
    return Write(
        operation=request.operation,
        object=ref_of(subject),
        subresource=request.sub_resource,
        actor=_actor(request.user_info),
        manager=manager or next((change.manager for change in changed), ""),
        owner=owner,
        changes=changed,
        dry_run=request.dry_run,
    )


def _changes(request: Request, manager: str) -> tuple[Change, ...]:
    """Return what an update changes; what is created or deleted is so as a whole."""
    if request.old_object is None or request.object is None:
        return ()
    found = changes(
        request.old_object, request.object, subresource=request.sub_resource, manager=manager
    )
    return tuple(found)


def _actor(user: UserInfo) -> Actor:
    return Actor(user.username, user.uid, tuple(user.groups))


def answer(uid: str, decision: Decision, audit: dict[str, str]) -> bytes:
    """Return the AdmissionReview that carries *decision* back; *audit* enters the audit log."""
    response: dict[str, Any] = {"uid": uid, "allowed": decision.allowed}
    if not decision.allowed:
        response["status"] = {
            "code": HTTPStatus.FORBIDDEN,
            "reason": "Forbidden",
            "message": decision.message,
        }
    if decision.warnings:
        response["warnings"] = decision.warnings
    if audit:
        response["auditAnnotations"] = audit
    return _encoder.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    )
