"""The notification file: its keys, their types and their meaning."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from correlator.notify.events import Kind
from glasswarden.duration import DurationError, parse_positive_duration
from glasswarden.typed_yaml import Mistake, TextInvalid, parse_typed

Pattern = Annotated[str, Meta(min_length=1, description="Text; `*` stands for any part of it.")]
Patterns = tuple[Pattern, ...]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
Duration = Annotated[str, Meta(pattern=r"^[0-9]+[smhd]([0-9]+[smhd])*$")]

_LOOPBACK: Final = {"127.0.0.1", "localhost", "::1"}


class Format(StrEnum):
    """How a message is written."""

    JSON = "json"
    SLACK = "slack"


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of the file: an unknown key in it is a mistake, not something for later."""


class Target(_Part, frozen=True, kw_only=True):
    """Somewhere that messages go."""

    name: Name
    format: Annotated[Format, Meta(description="`json`, or `slack` for what understands that.")] = (
        Format.JSON
    )
    url: Annotated[str, Meta(description="Where to post; use `urlFile` where it is a secret.")] = ""
    url_file: Annotated[str, Meta(description="A file with that address, such as a Secret's.")] = ""
    secret_file: Annotated[
        str, Meta(description="A file with the key that messages are signed with (HMAC-SHA-256).")
    ] = ""


class Route(_Part, frozen=True, kw_only=True):
    """Which events go where; what is left out does not matter. The first route that fits counts."""

    targets: Annotated[tuple[Name, ...], Meta(description="Names of targets; none drops it.")]
    events: Annotated[tuple[Kind, ...], Meta(description="Kinds of event.")] = ()
    applications: Annotated[Patterns, Meta(description="As `name` or `namespace/name`.")] = ()
    namespaces: Annotated[Patterns, Meta(description="Namespaces of the object.")] = ()
    engines: Annotated[Patterns, Meta(description="Engines that own the object.")] = ()
    teams: Annotated[Patterns, Meta(description="Teams that the sources file names.")] = ()
    clusters: Annotated[Patterns, Meta(description="Clusters, as the policy calls them.")] = ()
    also: Annotated[bool, Meta(description="Look at the routes below too.")] = False


class Silence(_Part, frozen=True, kw_only=True):
    """A ticket that nobody is told about any more."""

    ticket: Pattern
    until: Annotated[datetime, Meta(tz=True, description="When it ends by itself.")]
    reason: str = ""


class Document(_Part, frozen=True, kw_only=True):
    """The whole file."""

    api_version: Literal["glasswarden.io/v1"]
    kind: Literal["Notifications"]
    window: Annotated[
        Duration, Meta(description="How long events of one ticket or application are gathered.")
    ] = "30s"
    denials: Annotated[
        Duration, Meta(description="At most one message about refused writes in so long.")
    ] = "15m"
    targets: tuple[Target, ...] = ()
    routes: tuple[Route, ...] = ()
    silences: tuple[Silence, ...] = ()

    @property
    def window_length(self) -> timedelta:
        """The window."""
        return parse_positive_duration(self.window)

    @property
    def denials_length(self) -> timedelta:
        """The pause between messages about refused writes."""
        return parse_positive_duration(self.denials)


class NotificationsInvalid(Exception):
    """The text does not say who is told what; mend what `mistake` names."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


def parse_notifications(text: str) -> Document:
    """Return what *text* says, or raise `NotificationsInvalid` with the line and column."""
    try:
        typed = parse_typed(text, Document, "notifications file")
    except TextInvalid as error:
        raise NotificationsInvalid(error.mistake) from error
    for place, message in _find_objections(typed.value):
        raise NotificationsInvalid(typed.mistake_at(place, message))
    return typed.value


def _find_objections(document: Document) -> Iterator[tuple[str, str]]:
    """Yield what types cannot say, each with its place."""
    for key in ("window", "denials"):
        try:
            parse_positive_duration(getattr(document, key))
        except DurationError as error:
            yield f".{key}", f"{key}: {error}"
    names = Counter(target.name for target in document.targets)
    for number, target in enumerate(document.targets):
        place = f".targets[{number}]"
        if names[target.name] > 1:
            yield f"{place}.name", f"two targets are called {target.name}"
        if bool(target.url) == bool(target.url_file):
            yield place, "a target has either a url or a urlFile"
        if target.url and not is_safe(target.url):
            yield f"{place}.url", "the url must begin with https://"
    for number, route in enumerate(document.routes):
        for index, name in enumerate(route.targets):
            if name not in names:
                yield f".routes[{number}].targets[{index}]", f"no target is called {name}"


def is_safe(url: str) -> bool:
    """Return whether what is sent to *url* stays between us and its host."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
