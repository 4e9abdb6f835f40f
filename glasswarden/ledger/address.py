"""One address names a ledger everywhere: `sqlite:///PATH` or `postgresql://USER@HOST/DATABASE`."""

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from glasswarden.ledger.errors import AddressInvalid
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.sqlite import open_sqlite

POSTGRES: Final = frozenset({"postgres", "postgresql"})


def open_ledger(address: str, *, create: bool = True) -> Ledger:
    """Open the ledger that *address* names; a file is made where there is none, if *create*."""
    return open_sqlite(file_of(address), create=create)


def file_of(address: str) -> Path:
    """Return the file of an embedded ledger, or raise `AddressInvalid`."""
    url = urlsplit(address)
    if url.scheme != "sqlite" or url.netloc or len(url.path) < len("/x"):
        raise AddressInvalid(
            f"{address!r} is no ledger address; try sqlite:///var/lib/glasswarden.db"
            " or postgresql://glasswarden@db/glasswarden"
        )
    return Path(unquote(url.path))


def keys_beside(address: str) -> Path:
    """Return the folder for the keys of an embedded ledger; of others it must be told."""
    if urlsplit(address).scheme in POSTGRES:
        raise AddressInvalid("a ledger in PostgreSQL needs its keys named: --keys FOLDER")
    file = file_of(address)
    return file.with_name(f"{file.name}.keys")
