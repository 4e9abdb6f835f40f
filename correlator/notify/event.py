"""Something that happened and that its owner wants to hear of."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Kind(StrEnum):
    """What happened."""

    DENIED = "denied"
    """Somebody's direct write was refused."""
    GRANT_OPENED = "grant-opened"
    GRANT_USED = "grant-used"
    GRANT_EXPIRED = "grant-expired"
    GRANT_OVERDUE = "grant-overdue"
    """It has ended, and something changed under it is still live and not in Git."""
    UNEXPLAINED_DRIFT = "unexplained-drift"
    CONFIGURATION_CHANGED = "configuration-changed"
    """A webhook configuration of ours was changed or deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One such thing. What is not known is empty."""

    id: str
    """The same for the same thing: it is told once."""
    kind: Kind
    time: datetime
    subject: str
    """The object, such as `Deployment shop/web`."""
    says: str
    """What happened, in a sentence without the subject."""
    cluster: str = ""
    namespace: str = ""
    engine: str = ""
    application: str = ""
    """`name`, or `namespace/name`."""
    team: str = ""
    ticket: str = ""
    actor: str = ""
