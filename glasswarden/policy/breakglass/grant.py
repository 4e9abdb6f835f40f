"""What a record tells about a grant: which one, and what this write did with it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Act(StrEnum):
    """What a write means for a grant."""

    REQUESTED = "requested"
    """Somebody asked, and a second person must approve."""
    APPROVED = "approved"
    """A second person approved: the grant was issued."""
    ISSUED = "issued"
    USED = "used"
    EXTENDED = "extended"
    """Its time, ticket or reason was changed."""
    CLOSED = "closed"
    SETTLED = "settled"
    """After its end, somebody said what became of the changes."""


@dataclass(frozen=True, slots=True)
class GrantUse:
    """A write that asked for, used or ended a grant."""

    id: str
    act: Act
    actor: str
    """Who was granted; the writer may be an approver, or share in it."""
    rule: str
    ticket: str
    reason: str
    expires: datetime | None
    """Until when it holds; of a request, until when it can be approved."""
    approver: str = ""
    outcome: str = ""
    namespaced: bool = False
    """Whether it is a grant on the object's Namespace."""
