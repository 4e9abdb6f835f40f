"""The recorded story: what people typed, what the API server then asked, and what came of it."""

from datetime import datetime
from importlib import resources
from typing import Final, Literal, TypeAlias

import msgspec

INCIDENT: Final = "incident"
"""The tag of what Git declared when the questions were asked."""

Door: TypeAlias = Literal["mutate", "validate"]


class _User(msgspec.Struct, frozen=True):
    username: str


class _Request(msgspec.Struct, frozen=True, rename="camel"):
    user_info: _User


class _Review(msgspec.Struct, frozen=True):
    request: _Request


class Exchange(msgspec.Struct, frozen=True):
    """One question of the API server, and what the webhook answered at the time."""

    time: datetime
    door: Door
    review: msgspec.Raw
    answer: msgspec.Raw
    """Not given again: it only tells which ids and stamps of the recording are made anew."""

    @property
    def user(self) -> str:
        """Whose write it was about."""
        return msgspec.json.decode(self.review, type=_Review).request.user_info.username


class Step(msgspec.Struct, frozen=True):
    """One thing that happened."""

    title: str
    """In a sentence; empty where it is not told."""

    time: datetime
    person: str = ""
    """Who typed; nobody where a program acted."""

    command: str = ""
    """The command line, as typed."""

    said: str = ""
    """What the terminal showed before the webhook's own words, or all of it where there were none.
    """

    exchanges: list[Exchange] = []


class Recording(msgspec.Struct, frozen=True):
    """A story, with all that is needed to have the product live through it again."""

    server: str
    """The version of the API server that it happened on."""

    flux: str
    """The version of Flux's kustomize-controller."""

    began: datetime
    ended: datetime
    """When the questions were asked."""

    policy: str
    """The policy file."""

    steps: list[Step]
    first: list[msgspec.Raw]
    """The objects before the first step."""

    live: list[msgspec.Raw]
    """The objects at the end."""

    mended: list[msgspec.Raw]
    """The objects after Git had taken over what was to stay."""

    audit: list[msgspec.Raw]
    """The API server's audit events about the application's objects."""

    repository: str
    """The Git repository after that, as a bundle in base64; a tag tells where it stood before."""


def recorded_story() -> Recording:
    """Return the story that ships with the package."""
    file = resources.files("glasswarden.demo").joinpath("recording.json")
    return msgspec.json.decode(file.read_bytes(), type=Recording)
