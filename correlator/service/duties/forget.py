"""Old episodes are forgotten: the database does not grow without bound."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import structlog

from correlator.service.passed import Passed
from correlator.service.tools import Tools

EVERY: Final = timedelta(hours=1)
MOST: Final = 100_000
"""Episodes that are kept after they are gone, whatever their age: a field that flaps makes many."""

log = structlog.get_logger()


def new_forget(tools: Tools) -> Callable[[Passed], None]:
    """Return what forgets, once in a while."""
    last: datetime | None = None

    def forget(passed: Passed) -> None:
        nonlocal last
        if last is not None and passed.now - last < EVERY:
            return
        before = passed.now - tools.settings.retention
        if forgotten := tools.history.forget(passed.term, before, MOST):
            log.info("episodes forgotten", episodes=forgotten)
        last = passed.now

    return forget
