"""Opening the history that lies beside a ledger's records."""

from glasswarden.ledger.address import file_of, is_postgres
from glasswarden.ledger.errors import DriverMissing
from glasswarden.ledger.history.episode import History
from glasswarden.ledger.history.sqlite import SqliteHistory


def open_history(address: str, *, create: bool = True) -> History:
    """Open the history in the ledger that *address* names; raises `LedgerError`."""
    if not is_postgres(address):
        return SqliteHistory(file_of(address), create=create)
    # Only here: psycopg takes its time to load, and is not everywhere.
    try:
        from glasswarden.ledger.history.postgres import PostgresHistory  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise DriverMissing(
            f"PostgreSQL needs a driver ({error}): pip install glasswarden[postgres]"
        ) from error
    return PostgresHistory(address)
