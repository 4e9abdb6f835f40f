"""Opening a ledger by its address: `sqlite:///PATH` or `postgresql://USER@HOST/DATABASE`."""

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from glasswarden.ledger.errors import AddressInvalid, DriverMissing
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.sqlite.file import migrate_sqlite, open_sqlite

POSTGRES: Final = frozenset({"postgres", "postgresql"})


def open_ledger(address: str, *, create: bool = True, in_bulk: bool = False) -> Ledger:
    """Open the ledger that *address* names; a file is made where there is none, if *create*.

    *in_bulk* is for storing very many records; it has no effect on PostgreSQL.
    """
    if not is_postgres(address):
        return open_sqlite(file_of(address), create=create, in_bulk=in_bulk)
    # Only here: psycopg is slow to import, and optional.
    try:
        from glasswarden.ledger.postgres.driver import open_postgres  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise _new_driver_missing(error) from error
    return open_postgres(address)


def migrate_ledger(address: str) -> list[str]:
    """Migrate the ledger's tables to this program's version; return what was done."""
    if not is_postgres(address):
        return migrate_sqlite(file_of(address))
    try:
        from glasswarden.ledger.postgres.schema import migrate  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise _new_driver_missing(error) from error
    return migrate(address)


def is_postgres(address: str) -> bool:
    """Return whether *address* names a PostgreSQL; libpq parses the rest.

    The standard library cannot parse an address with several hosts, or with sockets.
    """
    return address.partition("://")[0] in POSTGRES


def file_of(address: str) -> Path:
    """Return the file of a SQLite ledger, or raise `AddressInvalid`."""
    url = urlsplit(address)
    if url.scheme != "sqlite" or url.netloc or len(url.path) < len("/x"):
        raise AddressInvalid(
            f"{_strip_secrets(address)!r} is not a ledger address; try"
            " sqlite:///var/lib/glasswarden.db or postgresql://glasswarden@db/glasswarden"
        )
    # In POSIX a path that begins with two slashes has a special meaning.
    return Path("/", unquote(url.path).lstrip("/"))


def keys_beside(address: str) -> Path:
    """Return the folder for the keys of a SQLite ledger; for others raise `AddressInvalid`."""
    if is_postgres(address):
        raise AddressInvalid("a ledger in PostgreSQL needs its keys named: --keys FOLDER")
    file = file_of(address)
    return file.with_name(f"{file.name}.keys")


def spool_beside(address: str) -> Path | None:
    """Return the folder for the spool of a SQLite ledger; none for others."""
    if is_postgres(address):
        return None
    file = file_of(address)
    return file.with_name(f"{file.name}.spool")


def _strip_secrets(address: str) -> str:
    return re.sub(r"//.*@|\?.*", lambda found: f"{found[0][0]}…", address, flags=re.DOTALL)


def _new_driver_missing(error: ModuleNotFoundError) -> DriverMissing:
    return DriverMissing(f"PostgreSQL needs a driver ({error}): pip install glasswarden[postgres]")
