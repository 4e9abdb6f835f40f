"""Show on stderr that a long build is under way: a ticking line on a terminal, else a few lines."""

import sys
import time
from collections.abc import Callable
from typing import Final

QUIET_SECONDS: Final = 30


class Progress:
    """The line about one program."""

    def __init__(self, title: str, seconds: int) -> None:
        self.title = title
        self._usual = f"usually about {seconds} s"
        self._start = time.monotonic()
        self._said = self._start
        self._terminal = sys.stderr.isatty()
        self._say(f"{title}: building, {self._usual}", end="" if self._terminal else "\n")

    def watch(self, done: Callable[[float], bool]) -> None:
        """Call *done*, which waits up to that many seconds, until it says so; show the time."""
        while not done(1.0):
            self._tick()

    def end(self, outcome: str) -> None:
        """Leave a last line that says how it went."""
        self._say(f"{self.title}: {outcome} in {self._elapsed:.0f} s", end="\n")

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._start

    def _tick(self) -> None:
        if self._terminal:
            self._say(f"{self.title}: {self._elapsed:.0f} s, {self._usual}", end="")
        elif time.monotonic() - self._said >= QUIET_SECONDS:
            self._said = time.monotonic()
            self._say(f"{self.title}: {self._elapsed:.0f} s, {self._usual}", end="\n")

    def _say(self, text: str, *, end: str) -> None:
        start = "\r\033[K" if self._terminal else ""
        print(f"{start}{text}", end=end, file=sys.stderr, flush=True)
