"""The recorded story: the commands, the reviews of the API server, the responses, and the result.

Records, chains and stamps get new random ids and keys at each replay; `NameMap` replaces the
recorded ones with those that the webhook returns now.
"""

import base64
import re
from datetime import datetime
from importlib import resources
from typing import Final, Literal, TypeAlias

import msgspec

from glasswarden.policy.breakglass import names

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


def load_recording() -> Recording:
    """Return the story that ships with the package."""
    file = resources.files("glasswarden.demo").joinpath("recording.json")
    return msgspec.json.decode(file.read_bytes(), type=Recording)


class DemoFailed(Exception):
    """The story cannot be told."""


class StageFailed(DemoFailed):
    """The webhook did not start, or did not answer; the message says what to look at."""


class StoryDiffers(DemoFailed):
    """The product no longer does what it did in the recording: `make recording` renews it."""


class FolderUnusable(DemoFailed):
    """The folder cannot be written to, or holds something; name another."""


_STAMPS: Final = frozenset(
    f"/metadata/annotations/{name.replace('/', '~1')}" for name in (names.GRANT, names.REQUEST)
)


class Status(msgspec.Struct, frozen=True):
    """Why a write was refused."""

    code: int = 0
    message: str = ""


class Response(msgspec.Struct, frozen=True, rename="camel"):
    """What the webhook answered."""

    allowed: bool
    status: Status = Status()
    warnings: list[str] = []
    audit_annotations: dict[str, str] = {}
    patch: str = ""

    @property
    def edits(self) -> list["Edit"]:
        """What the answer changes about the object."""
        return msgspec.json.decode(base64.b64decode(self.patch) or b"[]", type=list[Edit])


class Edit(msgspec.Struct, frozen=True):
    """One operation of a JSON Patch."""

    op: str
    path: str
    value: msgspec.Raw = msgspec.Raw(b"null")


class _Answer(msgspec.Struct, frozen=True):
    response: Response


def parse_answer(body: bytes) -> Response:
    """Return the response in an AdmissionReview."""
    return msgspec.json.decode(body, type=_Answer).response


class NameMap:
    """Knows what each name of the recording is called now."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, recorded: Response, given: Response) -> None:
        """Remember that what was called as in *recorded* is called as in *given*."""
        before, after = _names_in(recorded), _names_in(given)
        if recorded.allowed != given.allowed or before.keys() != after.keys():
            raise StoryDiffers("the webhook answers otherwise than when this was recorded")
        self._names |= {before[what]: after[what] for what in before}

    def rename(self, text: bytes) -> bytes:
        """Return *text* with the names of now."""
        if not self._names:
            return text
        pattern = "|".join(map(re.escape, self._names))
        return re.sub(pattern, lambda found: self._names[found[0]], text.decode()).encode()


def _names_in(response: Response) -> dict[str, str]:
    """Return what is named in *response*, by what it is the name of."""
    stamps = {
        edit.path: bytes(edit.value).decode().strip('"')
        for edit in response.edits
        if edit.path in _STAMPS and edit.op != "remove"
    }
    witnessed = response.audit_annotations
    return stamps | {name: witnessed[name] for name in ("record", "chain") if name in witnessed}
