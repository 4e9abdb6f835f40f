"""One connection to a ledger's file, and this process's place among those who write to it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.sqlite.failures import failure_of, is_decoding_failure
from glasswarden.ledger.sqlite.turns import Turns, TurnTimeout
from glasswarden.ledger.sqlite.values import any_text

_ALL: Final = 0.9
"""The share of the time that counts as all of it; to tell SQLite takes a tenth of a commit."""


@dataclass(frozen=True, slots=True)
class Session:
    """What reads and writes one file. Belongs to one thread."""

    connection: sqlite3.Connection
    path: Path
    turns: Turns

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit what is done inside, or nothing of it."""
        try:
            with self.turns.taken() as left:
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
        # Our own wait in `turns`. Programs that do not know of those get what is left of the time,
        # so that nobody waits for both in turn.
        is_less = seconds < self.turns.seconds * _ALL
        if is_less:
            self._wait_for_others(seconds)
        try:
            # IMMEDIATE: who reads first and writes later fails where another wrote between.
            self.connection.execute("BEGIN IMMEDIATE")
        finally:
            if is_less:
                self._wait_for_others(self.turns.seconds)

    def _wait_for_others(self, seconds: float) -> None:
        self.connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")

    def query(self, statement: str, *values: object) -> list[Any]:
        """Return the rows that *statement* finds; a text that is none does not hide the others."""
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
        self.connection.text_factory = any_text
        try:
            return self.connection.execute(statement, values).fetchall()
        finally:
            self.connection.text_factory = str

    def close(self) -> None:
        """Give the file back."""
        self.connection.close()
        self.turns.close()
