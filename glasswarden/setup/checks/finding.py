"""What a check came to."""

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """What a check came to."""

    WELL = "well"
    UNSURE = "unsure"
    """It could not be told, or wants watching."""
    ILL = "ill"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    subject: str
    health: Health
    says: str
    advice: str = ""
