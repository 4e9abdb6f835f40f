"""The embedded ledger: one SQLite file, in write-ahead mode, synced at every commit."""

from glasswarden.ledger.sqlite.file import migrate_sqlite, open_sqlite

__all__ = ["migrate_sqlite", "open_sqlite"]
