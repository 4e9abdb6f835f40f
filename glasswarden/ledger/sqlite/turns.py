"""Turns: the processes that write to one file, one after another.

SQLite waits for another's commit by sleeping and looking again, ever longer: whoever commits often
is lucky, and the others wait a hundred times as long. Here they wait in the kernel, and are woken.

There are two locks. Whoever wants to write waits at the gate, and keeps it closed until it is its
turn; who has just written and wants to write again finds the gate closed, and goes behind.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class TurnTimeout(Exception):
    """Another process has had its turn for too long; it may be stopped, or its disk."""


class Turns:
    """This process's place in the queue for the file at *path*."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.seconds = seconds
        self._gate = _Lock(path.with_name(f"{path.name}-gate"))
        self._turn = _Lock(path.with_name(f"{path.name}-turn"))

    @contextmanager
    def taken(self) -> Iterator[float]:
        """Wait for this process's turn, and end it on leaving; raise `TurnTimeout` or `OSError`.

        What is given is the seconds that are left to wait for others.
        """
        latest = time.monotonic() + self.seconds
        self._gate.acquire(self.seconds)
        try:
            self._turn.acquire(latest - time.monotonic())
        finally:
            self._gate.release()
        try:
            yield max(0.0, latest - time.monotonic())
        finally:
            self._turn.release()

    def close(self) -> None:
        """Give the files back."""
        self._gate.close()
        self._turn.close()


class _Lock:
    """A lock on a file; the kernel lifts it when its holder dies, however it dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._waiter: _Waiter | None = None
        """Still waits, after we lost patience."""

    def acquire(self, seconds: float) -> None:
        if self._waiter is not None and self._waiter.resumed():
            self._wait(self._waiter, seconds)
            return
        if self._descriptor < 0:
            # Not for writing: whose process made the file does not matter.
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiter = _Waiter(self._descriptor)
            waiter.start()
            self._wait(waiter, seconds)

    def _wait(self, waiter: "_Waiter", seconds: float) -> None:
        if waiter.done_within(seconds):
            self._waiter, self._descriptor = None, waiter.descriptor
            return
        self._waiter, self._descriptor = waiter, -1  # which is the waiter's now
        raise TurnTimeout(f"{self._path} stays locked by another process")

    def release(self) -> None:
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class _Waiter(threading.Thread):
    """Waits for a lock in place of its owner, who may lose patience: flock(2) knows no time-out."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(name="ledger-turn", daemon=True)
        self.descriptor = descriptor
        self._locked = threading.Event()
        self._deciding = threading.Lock()
        self._wanted = True
        self._gone = False

    def run(self) -> None:
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        with self._deciding:
            if self._wanted:
                self._locked.set()
            else:
                os.close(self.descriptor)
                self._gone = True

    def done_within(self, seconds: float) -> bool:
        """Tell whether the lock was had in time; if not, it is let go of whenever it comes."""
        if self._locked.wait(seconds):
            return True
        with self._deciding:
            self._wanted = self._locked.is_set()
            return self._wanted

    def resumed(self) -> bool:
        """Want the lock after all; tell whether it is still being waited for."""
        with self._deciding:
            self._wanted = not self._gone
            return self._wanted
