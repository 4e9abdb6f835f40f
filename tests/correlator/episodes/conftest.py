"""A new history for a test, in every database that can keep one: it is kept beside the ledger."""

from tests.ledger.conftest import address, postgresql_address, sqlite_address

__all__ = ["address", "postgresql_address", "sqlite_address"]
