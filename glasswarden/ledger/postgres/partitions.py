"""Months: made where a record needs one, dropped when nothing is left in them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from psycopg import errors
from psycopg.sql import SQL, Identifier

from glasswarden.ledger.postgres.schema import SCHEMA
from glasswarden.ledger.postgres.session import Connection

# The month after it as well: when that comes, nobody has to wait.
_MAKE: Final = """
    SELECT glasswarden.make_month(month + after * interval '1 month')
    FROM generate_series(0, 1) AS after, (
        SELECT DISTINCT date_trunc('month', glasswarden.moment_of(id)) AS month
        FROM unnest(%s::uuid[]) AS id
    ) AS months
    ORDER BY month
"""


def make_months(connection: Connection, ids: Sequence[str]) -> None:
    """Make the partitions for records with *ids* where there are none."""
    connection.execute(_MAKE, [list(ids)])


def drop_empty(connection: Connection, partitions: Iterable[str], now: datetime) -> None:
    """Drop those of *partitions* that are past and empty; what is in use now waits for later."""
    this_month = f"record_{now:%Y_%m}"
    for name in sorted(partitions):
        if name < this_month and _is_empty(connection, name):
            try:
                _drop(connection, name)
            except (errors.LockNotAvailable, errors.InsufficientPrivilege):
                return


def _drop(connection: Connection, name: str) -> None:
    with connection.transaction():
        # The parent first, as those do that append: nobody waits for the other.
        connection.execute("LOCK TABLE glasswarden.record IN ACCESS EXCLUSIVE MODE")
        if _is_empty(connection, name):  # still
            connection.execute(SQL("DROP TABLE {}").format(Identifier(SCHEMA, name)))


def _is_empty(connection: Connection, name: str) -> bool:
    query = SQL("SELECT FROM {} ORDER BY id LIMIT 1").format(Identifier(SCHEMA, name))
    return connection.execute(query).rowcount == 0
