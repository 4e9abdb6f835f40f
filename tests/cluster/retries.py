"""Wait for what a cluster does in its own time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class PatienceLost(AssertionError):
    """What was waited for did not happen."""


def eventually(look: Callable[[], T], what: str, *, seconds: float = 30) -> T:
    """Return the first true value that *look* returns, or raise naming *what* was waited for."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise PatienceLost(f"waited {seconds:.0f} s for {what}; last seen: {seen!r}")
        time.sleep(0.1)
    return seen
