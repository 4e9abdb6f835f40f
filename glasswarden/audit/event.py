"""One event of the API server's audit log (`audit.k8s.io/v1`), as far as anybody here asks.

The log is input like any other: what is no event raises, and what an event does not say reads as
empty. Bodies stay undecoded until somebody asks for them; most are never looked at.

What the annotations of an event say about our webhooks: what they recorded, when they failed.
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
"""The stage at which the API server knows what became of a request."""

_NOTHING: Final = Raw(b"null")
_SUCCESS: Final = range(200, 300)
_REFUSED: Final = range(400, 500)


class NotAnEvent(Exception):
    """What was read is no audit event, nor a list of them."""


class User(msgspec.Struct, frozen=True):
    """Somebody who asked something of the API server."""

    username: str = ""
    groups: tuple[str, ...] = ()


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    """What was asked about."""

    resource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""
    api_version: str = ""
    subresource: str = ""


class Status(msgspec.Struct, frozen=True):
    """What was answered."""

    code: int = 0


class Event(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A request to the API server, at one stage of its way."""

    kind: Literal["Event"] = "Event"
    audit_id: str = msgspec.field(name="auditID")
    stage: str
    level: str = ""
    verb: str = ""
    request_uri: str = msgspec.field(name="requestURI", default="")
    user: User = User()
    """Who authenticated."""

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
        """In whose name it was done: whom the webhook saw."""
        return self.impersonated_user or self.user

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing was to be stored."""
        return "dryRun=" in self.request_uri

    @property
    def stored(self) -> bool | None:
        """Whether the API server stored what was asked; none where its answer does not tell."""
        code = self.response_status.code if self.response_status else 0
        if self.stage != COMPLETE or self.verb == "deletecollection":
            # Of a collection a part may have gone before the rest was refused.
            return True if self.stage == COMPLETE and code in _SUCCESS else None
        if code in _SUCCESS:
            return True
        # After a time-out or an error of its own, the write may be stored all the same.
        return False if code in _REFUSED else None

    @property
    def manager(self) -> str:
        """The field manager that was named, or that the API server took for it."""
        named = parse_qs(urlsplit(self.request_uri).query).get("fieldManager", [""])[0]
        return named or manager_from_user_agent(self.user_agent)

    @property
    def source(self) -> str:
        """The address that it came from: the client's, as far as proxies told it."""
        return self.source_ips[0] if self.source_ips else ""

    @property
    def uid(self) -> str:
        """The uid of the object, where the log shows it."""
        body = _decode(self.response_object)
        found = body if isinstance(body, dict) else {}
        # A deletion is answered with a Status that says what was deleted.
        part = found.get("details" if found.get("kind") == "Status" else "metadata")
        told = part.get("uid") if isinstance(part, dict) else None
        return told if isinstance(told, str) else (self.object_ref or Reference()).uid

    def sent(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the request's body, nothing where the log's level leaves it out."""
        return _decode(self.request_object)

    def answered(self) -> Object | None:
        """Return the object that was answered, nothing where the log does not show it."""
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
    """Return what *document* holds, one event or a list of them, or raise `NotAnEvent`."""
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
    except msgspec.DecodeError:  # what JSON allows and we do not, such as a depth without end
        return None


FAILED_OPEN: Final = "failed-open.validating.webhook.admission.k8s.io/"

_OURS: Final = re.compile(r"[a-z0-9.-]+\.glasswarden\.io")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def records_in(event: Event) -> Iterator[tuple[str, str]]:
    """Yield the id and the digest of each record that *event* names.

    There may be several: the API server asks again when it tries a write again, and about each
    object of a collection.
    """
    for key, digest in event.annotations.items():
        webhook, _, record = key.rpartition("/")
        if _OURS.fullmatch(webhook) and _is_uuid(record) and _DIGEST.fullmatch(digest):
            yield record, digest


def failed_open(event: Event) -> tuple[str, ...]:
    """Return those of our webhooks that were to be asked, did not answer, and were passed by.

    Only validating ones: what a mutating one misses, a validating one still sees.
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
