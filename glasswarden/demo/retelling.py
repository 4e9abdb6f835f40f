"""What is named anew when a recorded story is lived through again: records, chains and stamps.

Their ids are random and their keys are others, so what the recording holds of them stands for what
the webhook gives now.
"""

import base64
import re
from typing import Final

import msgspec

from glasswarden.demo.errors import StoryDiffers
from glasswarden.policy.breakglass import names

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


class Retelling:
    """Knows what each name of the recording is called now."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, recorded: Response, given: Response) -> None:
        """Remember that what was called as in *recorded* is called as in *given*."""
        before, after = _names(recorded), _names(given)
        if recorded.allowed != given.allowed or before.keys() != after.keys():
            raise StoryDiffers("the webhook answers otherwise than when this was recorded")
        self._names |= {before[what]: after[what] for what in before}

    def of(self, text: bytes) -> bytes:
        """Return *text* with the names of now."""
        if not self._names:
            return text
        pattern = "|".join(map(re.escape, self._names))
        return re.sub(pattern, lambda found: self._names[found[0]], text.decode()).encode()


def _names(response: Response) -> dict[str, str]:
    """Return what is named in *response*, by what it is the name of."""
    stamps = {
        edit.path: bytes(edit.value).decode().strip('"')
        for edit in response.edits
        if edit.path in _STAMPS and edit.op != "remove"
    }
    witnessed = response.audit_annotations
    return stamps | {name: witnessed[name] for name in ("record", "chain") if name in witnessed}
