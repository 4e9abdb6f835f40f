"""The input of attribution: the drifted field, audited writes, and what is known beside records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import Path
from glasswarden.ledger.record import Attempt

SCALE: Final = "scale"


class Way(StrEnum):
    """How a write was admitted."""

    RECORDED = "recorded"
    EMERGENCY = "emergency"
    """Its writer is in the emergency group, for which the API server does not call the webhook."""

    FAILED_OPEN = "failed-open"
    """The webhook was unavailable, and the failure policy allowed the write."""

    TRUSTED = "trusted"
    """Its writer is a controller of the owner, or the policy delegates the field to it."""

    UNRECORDED = "unrecorded"
    """There is no evidence that the webhook was called."""


class Act(StrEnum):
    """What was done to the object."""

    CREATE = "create"
    REPLACE = "replace"
    PATCH = "patch"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class AuditedWrite:
    """A write that the API server stored, as its audit log has it."""

    audit_id: str
    received: datetime
    answered: datetime
    way: Way
    act: Act
    actor: str
    """The user that the request acts as."""
    user: str
    """Who authenticated; under impersonation not the actor."""
    source: str = ""
    user_agent: str = ""
    manager: str = ""
    subresource: str = ""
    uid: str = ""
    sent: Value = ABSENT
    """The request's body; `ABSENT` where the level of the log leaves it out."""
    after: Object | None = None
    """The object, or its subresource, as it was answered."""
    records: tuple[str, ...] = ()
    """The ids of the records that speak of it: one for each try."""

    def covers(self, time: datetime) -> bool:
        """Return whether it happened at *time*, which is given in whole seconds."""
        return self.received.replace(microsecond=0) <= time <= self.answered


@dataclass(frozen=True, slots=True)
class Drifted:
    """One field that is not as Git says."""

    cluster: str
    ref: Ref
    """With the live object's uid, where there is a live object."""

    path: Path
    declared: Value
    live: Value
    holders: tuple[Entry, ...] = ()
    """The live managedFields entries that own the field: hints about its last writers."""

    delegate: str = ""
    """Who owns the field by the policy, if somebody other than Git does."""

    entries: tuple[Entry, ...] = ()
    """All live managedFields entries of whoever could have written the field."""

    owner_managers: frozenset[str] = frozenset()
    """The field managers of the owner, which keep held fields under a grant."""

    generation: int = 0
    """How often the live object's spec was written; 0 where that is not counted or unknown."""


@dataclass(frozen=True, slots=True)
class Witness:
    """What the API server's audit log says about one record."""

    user: str
    """Who authenticated; under impersonation not the record's actor."""

    stored: bool | None
    """Whether the API server stored the write; none if the response does not show it."""

    source: str = ""
    """The address that the request came from."""

    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A time in which writes to guarded objects may have passed without a record."""

    since: datetime
    until: datetime
    why: str


Written: TypeAlias = Callable[[Ref], Sequence[AuditedWrite]]
"""Returns what the audit log shows of an object, newest first."""


def nothing_written(_: Ref) -> Sequence[AuditedWrite]:
    """Return nothing: there is no audit log to ask."""
    return ()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known beside the records."""

    records_since: datetime | None = None
    """When the cluster's ledger began; none where it holds nothing."""

    pruned_before: datetime | None = None
    """Until when records may be gone, because somebody pruned them."""

    witnesses: Mapping[str, Witness] = field(default_factory=dict)
    """By the id of the record."""

    unseen: tuple[Unseen, ...] = ()
    audited: tuple[datetime, datetime] | None = None
    """From when to when the audit log is at hand: what was stored then has a witness."""

    written: Written = nothing_written
    """What the audit log shows of an object, recorded or not."""

    def lacks_witness(self, attempt: Attempt) -> bool:
        """Return whether the audit log should have *attempt*, and has not."""
        if self.audited is None or attempt.id in self.witnesses:
            return False
        begin, end = self.audited
        return begin <= attempt.time <= end

    def combine(self, other: "Knowledge") -> "Knowledge":
        """Return this with what *other* knows; where both know a thing, *other* is asked."""
        return Knowledge(
            other.records_since or self.records_since,
            other.pruned_before or self.pruned_before,
            other.witnesses or self.witnesses,
            self.unseen + other.unseen,
            other.audited or self.audited,
            self.written if other.written is nothing_written else other.written,
        )
