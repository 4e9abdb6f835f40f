"""The clock of the machine: the one source of time in a process, and a monitor for changes of it.

Grants end by this clock, and records contain it.
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
"""More than a clock is slewed between two checks, less than any time-to-live."""

log = structlog.get_logger()


class ClockMonitor:
    """Compares the time of day with the elapsed time, to detect that the clock was set."""

    def __init__(
        self,
        time_of_day: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._time_of_day = time_of_day
        self._elapsed = elapsed
        self._difference = time_of_day() - elapsed()

    async def follow(self) -> None:
        """Check every second, for as long as the process runs."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self.check()

    def check(self) -> None:
        """Log and count a change of the clock since the last check."""
        difference = self._time_of_day() - self._elapsed()
        jump, self._difference = difference - self._difference, difference
        if abs(jump) > JUMP_SECONDS:
            log.warning("clock jumped", seconds=round(jump))
            CLOCK_JUMPS.inc()


TimeSource: TypeAlias = Callable[[], datetime]


def machine_time() -> datetime:
    """Return the time of the machine's clock."""
    return datetime.now(UTC)
