"""The machine's clock, watched: grants end by it, and records carry it.

What time it is, for everything in a process that goes by it: one answer, from one place.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeAlias

import structlog

from webhook.metrics import CLOCK_JUMPS

POLL_SECONDS: Final = 1.0
JUMP_SECONDS: Final = 5.0
"""More than a clock is slewed between two looks, less than anybody's time-to-live."""

log = structlog.get_logger()


class Clock:
    """Compares the time of day with the time that has passed."""

    def __init__(
        self,
        time_of_day: Callable[[], float] = time.time,
        passed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._time_of_day = time_of_day
        self._passed = passed
        self._difference = time_of_day() - passed()

    async def follow(self) -> None:
        """Look every second, for as long as the process lives."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self.look()

    def look(self) -> None:
        """Say by how much the clock was set, if it was."""
        difference = self._time_of_day() - self._passed()
        jump, self._difference = difference - self._difference, difference
        if abs(jump) > JUMP_SECONDS:
            log.warning("clock jumped", seconds=round(jump))
            CLOCK_JUMPS.inc()


TimeSource: TypeAlias = Callable[[], datetime]


def machine_time() -> datetime:
    """Return what the machine's clock shows."""
    return datetime.now(UTC)
