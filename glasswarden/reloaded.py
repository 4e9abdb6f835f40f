"""A value that follows a file or a folder while a program runs.

The last value that could be read stays in use, whatever happens to the file: it may be deleted,
half written, or make the parser fail in a way that nobody foresaw. The next change is read anyway.
What is done about a change or an error is the owner's; nothing is logged here.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

POLL_SECONDS: Final = 1.0

T = TypeVar("T")
S = TypeVar("S")

_UNREAD: Final = object()


def _ignore(_: object) -> None:
    """Do nothing."""


class Reloaded(Generic[T]):
    """The newest value that was valid. Refreshed by one thread or task, read by any."""

    def __init__(
        self,
        value: T,
        read: Callable[[], S],
        parse: Callable[[S], T],
        *,
        on_change: Callable[[T], None] = _ignore,
        on_error: Callable[[str], None] = _ignore,
        quoted: tuple[type[Exception], ...] = (),
    ) -> None:
        """Start with *value*; *read* returns what the file holds, or what changes along with it.

        *on_change* gets each new value, *on_error* each new reason why there is none. Of errors in
        *quoted* the reason is the message; that of any other may quote the file's content.
        """
        self.value = value
        self.error = ""
        """Why the file cannot be used as it is now; empty where it can."""
        self._read: Callable[[], Any] = read
        self._parse: Callable[[Any], T] = parse
        self._on_change = on_change
        self._on_error = on_error
        self._quoted = quoted
        self._seen: object = _UNREAD

    def load(self) -> None:
        """Read the file for the first time; whatever is wrong with it is raised."""
        seen = self._read()
        self.value = self._parse(seen)
        self._seen = seen

    def mark_read(self) -> None:
        """Take it that the value at the start is what the file holds now."""
        self._seen = self._read()

    def refresh(self) -> None:
        """Take the file up if it has changed, or could not be used before. Raises nothing."""
        try:
            self._take_up()
        except self._quoted as error:
            self._fail(str(error))
        except Exception as error:  # noqa: BLE001 - the outermost edge of what follows the file
            # Whatever this file does to us, the next one must be read.
            self._fail(f"{type(error).__name__} while it was read")
        else:
            self.error = ""

    async def follow(self, after: Callable[[], None] = lambda: None) -> None:
        """Refresh every second, for as long as the task lives; *after* is called each time."""
        while True:
            self.refresh()
            after()
            await asyncio.sleep(POLL_SECONDS)

    def follow_in_thread(self, name: str) -> None:
        """Refresh now, and every second in a thread of its own, called *name*."""

        def follow() -> None:
            while True:
                time.sleep(POLL_SECONDS)
                self.refresh()

        self.refresh()
        threading.Thread(target=follow, name=name, daemon=True).start()

    def _take_up(self) -> None:
        seen = self._read()
        if seen == self._seen and not self.error:
            return
        value = self._parse(seen)
        self.value = value
        self._on_change(value)
        self._seen = seen

    def _fail(self, reason: str) -> None:
        """Report *reason*, once for as long as it stays the same."""
        is_new, self.error = reason != self.error, reason
        if is_new:
            self._on_error(reason)


def state_of(*files: Path) -> tuple[tuple[int, int] | None, ...]:
    """Return what changes when a file is replaced: its inode and time; none if it is missing."""
    return tuple(_state(file) for file in files)


def _state(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
