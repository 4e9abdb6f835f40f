"""One address names a ledger everywhere: `sqlite:///PATH`."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from glasswarden.ledger.errors import AddressInvalid
from glasswarden.ledger.sqlite import SqliteLedger, open_sqlite


def open_ledger(address: str) -> SqliteLedger:
    """Open the ledger that *address* names."""
    url = urlsplit(address)
    if url.scheme != "sqlite" or url.netloc or len(url.path) < len("/x"):
        raise AddressInvalid(
            f"{address!r} is no ledger address; try sqlite:///var/lib/glasswarden.db"
        )
    return open_sqlite(Path(unquote(url.path)))
