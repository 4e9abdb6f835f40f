"""What happens to a write that is refused."""

from enum import StrEnum


class Mode(StrEnum):
    """From the strictest to the mildest; a refused write is recorded in all of them."""

    ENFORCE = "enforce"
    WARN = "warn"
    AUDIT = "audit"
