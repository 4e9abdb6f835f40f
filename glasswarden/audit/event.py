"""One event of the API server's audit log (`audit.k8s.io/v1`), with the fields that are used here.

The log is untrusted input: a document that is not an event raises, and a field that an event does
not have reads as empty. Bodies are decoded on demand; most are never read. The annotations of an
event name the records of our webhooks, and whether a webhook failed open.
"""

import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec import Meta, Raw

from glasswarden.kube.managed_fields import manager_from_user_agent
from glasswarden.kube.objects import Object

Moment = Annotated[datetime, Meta(tz=True)]

COMPLETE: Final = "ResponseComplete"
"""The stage at which the result of a request is known."""

_NOTHING: Final = Raw(b"null")
_SUCCESS: Final = range(200, 300)
_REFUSED: Final = range(400, 500)


class NotAnEvent(Exception):
    """The document is neither an audit event nor a list of them."""


class User(msgspec.Struct, frozen=True):
    """The user of a request."""

    username: str = ""
    groups: tuple[str, ...] = ()


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    """The object of a request."""

    resource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""
    api_version: str = ""
    subresource: str = ""


class Status(msgspec.Struct, frozen=True):
    """The response status."""

    code: int = 0


class Event(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A request to the API server, at one stage."""

    kind: Literal["Event"] = "Event"
    audit_id: str = msgspec.field(name="auditID")
    stage: str
    level: str = ""
    verb: str = ""
    request_uri: str = msgspec.field(name="requestURI", default="")
    user: User = User()
    """The authenticated user."""

    impersonated_user: User | None = None
    source_ips: tuple[str, ...] = msgspec.field(name="sourceIPs", default=())
    user_agent: str = ""
    object_ref: Reference | None = None
    response_status: Status | None = None
    request_object: Raw = _NOTHING
    response_object: Raw = _NOTHING
    request_received_timestamp: Moment
    stage_timestamp: Moment
    annotations: dict[str, str] = {}

    @property
    def actor(self) -> User:
        """The user that the webhook saw: the impersonated one, if any."""
        return self.impersonated_user or self.user

    @property
    def is_dry_run(self) -> bool:
        """Whether it is a dry run."""
        return "dryRun=" in self.request_uri

    @property
    def stored(self) -> bool | None:
        """Whether the API server stored the write; none where the response does not show it."""
        code = self.response_status.code if self.response_status else 0
        if self.stage != COMPLETE or self.verb == "deletecollection":
            # Of a collection a part may have been deleted before the rest was rejected.
            return True if self.stage == COMPLETE and code in _SUCCESS else None
        if code in _SUCCESS:
            return True
        # After a time-out or a server error, the write may be stored nevertheless.
        return False if code in _REFUSED else None

    @property
    def manager(self) -> str:
        """The field manager of the request, or the default of the API server."""
        named = parse_qs(urlsplit(self.request_uri).query).get("fieldManager", [""])[0]
        return named or manager_from_user_agent(self.user_agent)

    @property
    def source(self) -> str:
        """The address of the client, as far as proxies forwarded it."""
        return self.source_ips[0] if self.source_ips else ""

    @property
    def uid(self) -> str:
        """The uid of the object, where the log shows it."""
        body = _decode(self.response_object)
        found = body if isinstance(body, dict) else {}
        # The response to a deletion is a Status that names the deleted object.
        part = found.get("details" if found.get("kind") == "Status" else "metadata")
        uid = part.get("uid") if isinstance(part, dict) else None
        return uid if isinstance(uid, str) else (self.object_ref or Reference()).uid

    def request_body(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the request's body, none where the log's level omits it."""
        return _decode(self.request_object)

    def response_body(self) -> Object | None:
        """Return the object in the response, none where the log does not show it."""
        found = _decode(self.response_object)
        if not isinstance(found, dict) or found.get("kind") in {None, "Status"}:
            return None
        return found


class EventList(msgspec.Struct, frozen=True):
    """Events in one document, as the API server posts them to a webhook."""

    kind: Literal["EventList"]
    items: tuple[Event, ...] = ()


_event: Final = msgspec.json.Decoder(Event)
_list: Final = msgspec.json.Decoder(EventList)
_any: Final = msgspec.json.Decoder()


def parse_event(document: bytes | str | Raw) -> Event:
    """Return the event in *document*, or raise `NotAnEvent`."""
    try:
        return _event.decode(document)
    except msgspec.MsgspecError as error:
        raise NotAnEvent(str(error)) from error


def parse_events(document: bytes) -> tuple[Event, ...]:
    """Return the event, or the list of events, in *document*, or raise `NotAnEvent`."""
    try:
        return (_event.decode(document),)
    except msgspec.MsgspecError as error:
        try:
            return _list.decode(document).items
        except msgspec.MsgspecError:
            raise NotAnEvent(str(error)) from error


def _decode(body: Raw) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return _any.decode(body)
    except msgspec.DecodeError:  # valid JSON that we reject, such as unlimited depth
        return None


FAILED_OPEN: Final = "failed-open.validating.webhook.admission.k8s.io/"

_OURS: Final = re.compile(r"[a-z0-9.-]+\.glasswarden\.io")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def records_in(event: Event) -> Iterator[tuple[str, str]]:
    """Yield the id and the digest of each record that *event* names.

    There may be several: the API server asks again when it retries a write, and separately for each
    object of a collection.
    """
    for key, digest in event.annotations.items():
        webhook, _, record = key.rpartition("/")
        if _OURS.fullmatch(webhook) and _is_uuid(record) and _DIGEST.fullmatch(digest):
            yield record, digest


def failed_open_webhooks_of(event: Event) -> tuple[str, ...]:
    """Return those of our webhooks that did not answer and failed open.

    Only validating ones: what a mutating webhook misses, a validating one still sees.
    """
    return tuple(
        name
        for key, name in event.annotations.items()
        if key.startswith(FAILED_OPEN) and _OURS.fullmatch(name)
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
