"""Opening the history of findings in a ledger's database."""

from correlator.episodes.episode import History
from correlator.episodes.sqlite import SqliteHistory
from glasswarden.ledger.errors import DriverMissing
from glasswarden.ledger.open import file_of, is_postgres


def open_history(address: str, *, create: bool = True) -> History:
    """Open the history in the ledger that *address* names; raises `LedgerError`."""
    if not is_postgres(address):
        return SqliteHistory(file_of(address), create=create)
    # Only here: psycopg takes its time to load, and is not everywhere.
    try:
        from correlator.episodes.postgres import PostgresHistory  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise DriverMissing(
            f"PostgreSQL needs a driver ({error}): pip install glasswarden[postgres]"
        ) from error
    return PostgresHistory(address)
