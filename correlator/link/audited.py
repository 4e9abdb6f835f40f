"""A write as the API server's audit log has it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Object

SCALE: Final = "scale"


class Way(StrEnum):
    """How a write got past the door."""

    RECORDED = "recorded"
    EMERGENCY = "emergency"
    """Its writer is in the group that is never asked."""

    FAILED_OPEN = "failed-open"
    """The webhook should have been asked, and did not answer."""

    TRUSTED = "trusted"
    """Its writer reconciles for the owner, or was given the field."""

    UNRECORDED = "unrecorded"
    """Nothing says that anybody was asked."""


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
    """In whose name."""
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
        """Tell whether it happened at *time*, which is given in whole seconds."""
        return self.received.replace(microsecond=0) <= time <= self.answered
