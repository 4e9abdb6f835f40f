"""The embedded ledger: one SQLite file, in write-ahead mode, synced at every commit."""

from glasswarden.ledger.sqlite.file import open_sqlite

__all__ = ["open_sqlite"]
