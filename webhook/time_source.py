"""What time it is, for everything in a process that goes by it: one answer, from one place."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

TimeSource: TypeAlias = Callable[[], datetime]


def machine_time() -> datetime:
    """Return what the machine's clock shows."""
    return datetime.now(UTC)
