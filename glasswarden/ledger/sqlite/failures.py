"""What SQLite says when it fails, in words for whoever must do something about it."""

import sqlite3
from pathlib import Path
from typing import Final

from glasswarden.ledger.errors import LedgerDamaged, LedgerUnavailable

_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PRIMARY: Final = 0xFF
"""The low byte of a result code says what kind of failure it is, the rest which one."""


def failure_of(path: Path, done: str, error: sqlite3.Error) -> LedgerUnavailable:
    """Return what to raise where *path* could not be *done*: opened, read, written."""
    # Errors that Python's own binding raises have no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
    said = f"the ledger {path} cannot be {done}: {error}"
    if code in _DAMAGE:
        return LedgerDamaged(f"{said}; restore it from a copy")
    return LedgerUnavailable(said)


def is_decoding_failure(error: sqlite3.Error) -> bool:
    """Tell whether something is kept as text and is no UTF-8; that is Python's own error."""
    return not hasattr(error, "sqlite_errorcode") and "decode" in str(error)
