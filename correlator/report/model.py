"""The content of a report, independent of its format; the JSON Schema is generated from it."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from correlator.still_live import Answer

VERSION = 1


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the report."""


class Scope(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """What was asked about; what is left out did not matter."""

    ticket: str = ""
    actor: str = ""
    app: str = ""
    namespace: str = ""
    cluster: str = ""
    since: datetime | None = None
    until: datetime | None = None


class Subject(_Part, frozen=True, kw_only=True):
    """An object."""

    cluster: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


class Change(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """One field of a write, and what became of it."""

    path: str
    manager: str = ""
    old: Annotated[Any, Meta(description="Absent where there was none, or it is not shown.")] = (
        msgspec.UNSET
    )
    new: Annotated[Any, Meta(description="Absent where there was none, or it is not shown.")] = (
        msgspec.UNSET
    )
    old_note: Annotated[str, Meta(description="Stands for a value that is not shown.")] = ""
    new_note: Annotated[str, Meta(description="Stands for a value that is not shown.")] = ""
    superseded: Annotated[bool, Meta(description="A later write in the report set it again.")] = (
        False
    )
    live: Annotated[Answer, Meta(description="Whether the new value still stands.")] = (
        Answer.UNKNOWN
    )
    git: Annotated[Answer, Meta(description="Whether Git declares the new value.")] = Answer.UNKNOWN


class Write(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """One write of a person, with all tries that the API server made of it."""

    records: tuple[str, ...]
    time: datetime
    subject: Subject
    owner: str = ""
    actor: str
    impersonator: Annotated[
        str, Meta(description="Who impersonated the actor, by the audit log.")
    ] = ""
    address: Annotated[str, Meta(description="Where it came from, by the audit log.")] = ""
    user_agent: Annotated[str, Meta(description="The program, by the audit log.")] = ""
    stored: Annotated[Answer, Meta(description="Whether it was stored, by the audit log.")] = (
        Answer.UNKNOWN
    )
    groups: tuple[str, ...] = ()
    verb: str = ""
    operation: str
    subresource: str = ""
    manager: str = ""
    verdict: str
    clause: str
    mode: str = ""
    ticket: str = ""
    reason: str = ""
    grant: str = ""
    grant_act: str = ""
    grant_expires: Annotated[
        datetime | None, Meta(description="Until when the grant was to hold, as of this write.")
    ] = None
    approver: str = ""
    outcome: str = ""
    changes: tuple[Change, ...] = ()
    unlisted: int = 0

    @property
    def is_denied(self) -> bool:
        """Whether the write was denied."""
        return self.verdict == "deny"

    @property
    def is_lost(self) -> bool:
        """Whether it was allowed, and never stored."""
        return not self.is_denied and self.stored is Answer.NO

    @property
    def is_change(self) -> bool:
        """Whether anything was to change: asking for a grant alone changes nothing."""
        return bool(self.changes or self.unlisted)


class Unexplained(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """A drifted field that no record explains."""

    subject: Subject
    path: str
    declared: Annotated[Any, Meta(description="By Git; absent where it says nothing of it.")] = (
        msgspec.UNSET
    )
    live: Annotated[Any, Meta(description="Absent where there is none.")] = msgspec.UNSET
    why: Annotated[str, Meta(description="Why no record explains it.")]
    actor: Annotated[str, Meta(description="Who did it, where the audit log proves that.")] = ""
    time: datetime | None = None
    origin: Annotated[str, Meta(description="The file that declares the object.")] = ""
    command: str = ""


class Seen(_Part, frozen=True, kw_only=True):
    """Something that the audit log shows, and no record speaks of."""

    time: datetime
    sort: Annotated[str, Meta(description="emergency, failed-open, unrecorded or guard.")]
    subject: Subject
    actor: str
    impersonator: str = ""
    controller: Annotated[bool, Meta(description="A reconciler did it, and nobody by hand.")] = (
        False
    )
    address: str = ""
    user_agent: str = ""
    did: Annotated[str, Meta(description="What was done, as in: lead *patched it*.")] = ""
    what: Annotated[str, Meta(description="What was done, by whom and why it has no record.")]
    response: str
    command: str
    audit_id: str


class Obligation(_Part, frozen=True, kw_only=True):
    """Something that somebody still has to do."""

    subject: Subject
    path: str
    why: str
    command: str


class Integrity(_Part, frozen=True, kw_only=True):
    """How far the records themselves can be trusted."""

    verdict: Answer
    statement: str
    findings: tuple[str, ...] = ()


class Report(_Part, frozen=True, kw_only=True):
    """One report."""

    version: int = VERSION
    made: datetime
    scope: Scope
    summary: tuple[str, ...]
    writes: tuple[Write, ...]
    unexplained: tuple[Unexplained, ...] = ()
    unrecorded: tuple[Seen, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    integrity: Integrity
    incomplete: tuple[str, ...] = ()
    """What could not be checked, and why."""

    @property
    def admitted(self) -> tuple[Write, ...]:
        """The writes that were allowed."""
        return tuple(write for write in self.writes if not write.is_denied)

    @property
    def changing(self) -> tuple[Write, ...]:
        """The writes that were allowed and were to change something."""
        return tuple(write for write in self.admitted if write.is_change)

    @property
    def by_hand(self) -> tuple[Write | Seen, ...]:
        """What people changed, with and without a record, in its order."""
        past = [each for each in self.unrecorded if not each.controller]
        both: list[Write | Seen] = [*self.changing, *past]
        return tuple(sorted(both, key=lambda each: each.time))

    @property
    def denied(self) -> tuple[Write, ...]:
        """The writes that were denied."""
        return tuple(write for write in self.writes if write.is_denied)

    @property
    def happened(self) -> tuple[Write | Seen, ...]:
        """The writes with and without a record, in their order."""
        return tuple(sorted((*self.writes, *self.unrecorded), key=lambda each: each.time))

    @property
    def is_of_several(self) -> bool:
        """Whether it is about more than one cluster."""
        return len({each.subject.cluster for each in self.happened}) > 1


def render_json(report: Report) -> bytes:
    """Return the report for programs."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of what :func:`render_json` gives."""
    return msgspec.json.schema(Report)
