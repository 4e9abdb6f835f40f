"""One connection to a ledger's file, and the queue of the processes that write to it.

SQLite waits for another commit by sleeping and trying again at growing intervals, so a process that
commits often starves the others. Here the processes queue in the kernel, which wakes them up. There
are two locks. A process that wants to write takes the gate and holds it until its turn comes; a
process that has just written and wants to write again finds the gate closed, and queues behind it.
"""

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from glasswarden.ledger.errors import LedgerDamaged, LedgerUnavailable
from glasswarden.ledger.sqlite.storage import decode_text


class TurnTimeout(Exception):
    """Another process holds the lock for too long; it, or its disk, may have stopped."""


class Turns:
    """This process's place in the queue for the file at *path*."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.seconds = seconds
        self._gate = _Lock(path.with_name(f"{path.name}-gate"))
        self._turn = _Lock(path.with_name(f"{path.name}-turn"))

    @contextmanager
    def take_turn(self) -> Iterator[float]:
        """Wait for this process's turn, and end it on exit; raise `TurnTimeout` or `OSError`.

        Yields the seconds that are left to wait for other programs.
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
        """Close the files."""
        self._gate.close()
        self._turn.close()


class _Lock:
    """A lock on a file; the kernel lifts it when its holder dies, however it dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._waiter: _Waiter | None = None
        """Still waits, after our own time limit."""

    def acquire(self, seconds: float) -> None:
        if self._waiter is not None and self._waiter.resume():
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
        if waiter.is_locked_within(seconds):
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
    """Waits for a lock on behalf of its owner, which has a time limit: flock(2) has none."""

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

    def is_locked_within(self, seconds: float) -> bool:
        """Return whether the lock was acquired in time; if not, it is released once acquired."""
        if self._locked.wait(seconds):
            return True
        with self._deciding:
            self._wanted = self._locked.is_set()
            return self._wanted

    def resume(self) -> bool:
        """Wait for the lock again; return whether the thread still does."""
        with self._deciding:
            self._wanted = not self._gone
            return self._wanted


_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PRIMARY: Final = 0xFF
"""The low byte of a result code says what kind of failure it is, the rest which one."""


def failure_of(path: Path, done: str, error: sqlite3.Error) -> LedgerUnavailable:
    """Return what to raise where *path* could not be *done*: opened, read, written."""
    # Errors that Python's own binding raises have no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
    message = f"the ledger {path} cannot be {done}: {error}"
    if code in _DAMAGE:
        return LedgerDamaged(f"{message}; restore it from a copy")
    return LedgerUnavailable(message)


def is_decoding_failure(error: sqlite3.Error) -> bool:
    """Return whether a stored text is not UTF-8; that is Python's own error."""
    return not hasattr(error, "sqlite_errorcode") and "decode" in str(error)


_ALL: Final = 0.9
"""The share of the time that counts as all of it; setting it takes a tenth of a commit."""


@dataclass(frozen=True, slots=True)
class Session:
    """A connection to one file. Belongs to one thread."""

    connection: sqlite3.Connection
    path: Path
    turns: Turns

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit what is done inside, or nothing of it."""
        try:
            with self.turns.take_turn() as left:
                self._begin(left)
                try:
                    yield self.connection
                    self.connection.execute("COMMIT")
                except BaseException:
                    self.connection.rollback()
                    raise
        except sqlite3.Error as error:
            raise failure_of(self.path, "written", error) from error
        except (TurnTimeout, OSError) as error:
            raise LedgerUnavailable(f"the ledger {self.path} cannot be written: {error}") from error

    def _begin(self, seconds: float) -> None:
        # Our own processes queue in `turns`. For other programs the rest of the time is left, so
        # that the two waits together stay within the limit.
        is_less = seconds < self.turns.seconds * _ALL
        if is_less:
            self._wait_for_others(seconds)
        try:
            # IMMEDIATE: a transaction that reads first fails if another one wrote before it writes.
            self.connection.execute("BEGIN IMMEDIATE")
        finally:
            if is_less:
                self._wait_for_others(self.turns.seconds)

    def _wait_for_others(self, seconds: float) -> None:
        self.connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")

    def query(self, statement: str, *values: object) -> list[Any]:
        """Return the rows that *statement* finds; an invalid text does not hide the others."""
        try:
            try:
                return self.connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                if not is_decoding_failure(error):
                    raise
                return self._query_anything(statement, values)
        except sqlite3.Error as error:
            raise failure_of(self.path, "read", error) from error

    def _query_anything(self, statement: str, values: Sequence[object]) -> list[Any]:
        # Only then: Python would be called for each text, which is several times slower.
        self.connection.text_factory = decode_text
        try:
            return self.connection.execute(statement, values).fetchall()
        finally:
            self.connection.text_factory = str

    def close(self) -> None:
        """Close the file."""
        self.connection.close()
        self.turns.close()
