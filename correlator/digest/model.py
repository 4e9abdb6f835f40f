"""The content of a review, independent of its format."""

from datetime import datetime

import msgspec

VERSION = 1


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the review."""


class Count(_Part, frozen=True, kw_only=True):
    """A number, and the same one in the period before."""

    now: int
    before: int


class Repeated(_Part, frozen=True, kw_only=True):
    """A field that was changed repeatedly."""

    cluster: str
    subject: str
    path: str
    times: int
    """How often it was changed by hand."""
    refused: int
    """How often that was attempted and denied."""
    came_back: int | None
    """How often it drifted; nothing where the history of findings is not there."""
    actors: tuple[str, ...]
    tickets: tuple[str, ...]


class Application(_Part, frozen=True, kw_only=True):
    """What happened to the objects of one application."""

    name: str
    team: str
    writes: Count
    refused: int
    drifted: int | None
    unexplained: int | None


class Overdue(_Part, frozen=True, kw_only=True):
    """A grant that is over, and what was changed under it is still live."""

    cluster: str
    grantee: str
    subject: str
    ticket: str
    reason: str
    ended: datetime | None
    fields: tuple[str, ...]


class Orphan(_Part, frozen=True, kw_only=True):
    """An object that Git no longer declares."""

    subject: str
    owner: str


class Ignore(_Part, frozen=True, kw_only=True):
    """A rule by which differences are left alone."""

    whose: str
    what: str
    covers: int
    """How many of today's differences it is for."""
    since: datetime | None = None
    """Since when at the latest; nothing where neither Git nor managedFields tell."""


class Unexplained(_Part, frozen=True, kw_only=True):
    """A drifted field without a name."""

    subject: str
    path: str
    why: str


class Drift(_Part, frozen=True, kw_only=True):
    """What differs from Git, or from what was recorded, today."""

    fields: int
    unexplained: tuple[Unexplained, ...]
    orphans: tuple[Orphan, ...]
    ignores: tuple[Ignore, ...]


class Review(_Part, frozen=True, kw_only=True):
    """One review."""

    version: int = VERSION
    made: datetime
    since: datetime
    until: datetime
    writes: Count
    refused: Count
    people: Count
    grants: Count
    episodes: Count | None
    """How often a field began to drift; nothing where the history of findings is not there."""
    repeated: tuple[Repeated, ...]
    applications: tuple[Application, ...]
    overdue: tuple[Overdue, ...]
    unchecked: int
    """Grants that have ended, and whose changes could not be checked."""
    drift: Drift | None
    """None where it was not checked."""
    unknown: tuple[str, ...]
    """What could not be known, and why."""


def render_json(review: Review) -> bytes:
    """Return the review for programs."""
    return msgspec.json.format(msgspec.json.encode(review), indent=2) + b"\n"
