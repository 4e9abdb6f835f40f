"""One address names a ledger everywhere: `sqlite:///PATH` or `postgresql://USER@HOST/DATABASE`."""

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

    *in_bulk* is for who stores very many records; a server needs not be told.
    """
    if not is_postgres(address):
        return open_sqlite(file_of(address), create=create, in_bulk=in_bulk)
    # Only here: psycopg takes its time to load, and is not everywhere.
    try:
        from glasswarden.ledger.postgres.driver import open_postgres  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise _without_driver(error) from error
    return open_postgres(address)


def migrate_ledger(address: str) -> list[str]:
    """Bring the ledger's tables to this program's version; return what was done, in sentences."""
    if not is_postgres(address):
        return migrate_sqlite(file_of(address))
    try:
        from glasswarden.ledger.postgres.schema import migrate  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise _without_driver(error) from error
    return migrate(address)


def is_postgres(address: str) -> bool:
    """Tell whether *address* names a PostgreSQL; what follows is for libpq to read.

    Several hosts, or sockets, in one address are none that the standard library understands.
    """
    return address.partition("://")[0] in POSTGRES


def file_of(address: str) -> Path:
    """Return the file of an embedded ledger, or raise `AddressInvalid`."""
    url = urlsplit(address)
    if url.scheme != "sqlite" or url.netloc or len(url.path) < len("/x"):
        raise AddressInvalid(
            f"{_without_secrets(address)!r} is no ledger address; try"
            " sqlite:///var/lib/glasswarden.db or postgresql://glasswarden@db/glasswarden"
        )
    # POSIX gives a meaning of its own to a path that begins with two slashes.
    return Path("/", unquote(url.path).lstrip("/"))


def keys_beside(address: str) -> Path:
    """Return the folder for the keys of an embedded ledger; of others it must be told."""
    if is_postgres(address):
        raise AddressInvalid("a ledger in PostgreSQL needs its keys named: --keys FOLDER")
    file = file_of(address)
    return file.with_name(f"{file.name}.keys")


def spool_beside(address: str) -> Path | None:
    """Return the folder where records for an embedded ledger wait; of others it must be told."""
    if is_postgres(address):
        return None
    file = file_of(address)
    return file.with_name(f"{file.name}.spool")


def _without_secrets(address: str) -> str:
    return re.sub(r"//.*@|\?.*", lambda found: f"{found[0][0]}…", address, flags=re.DOTALL)


def _without_driver(error: ModuleNotFoundError) -> DriverMissing:
    return DriverMissing(f"PostgreSQL needs a driver ({error}): pip install glasswarden[postgres]")
