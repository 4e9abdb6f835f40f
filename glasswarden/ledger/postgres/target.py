"""Where the database is, and how long it may take: what libpq is told."""

import re
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from glasswarden.ledger.errors import AddressInvalid

STATEMENT_SECONDS: Final = 5
"""After that the server gives a statement up."""

SESSION: Final = {
    "default_transaction_isolation": r"read\ committed",
    # To scan an empty month is cheapest, but out of order: all other months would be sorted for it.
    "enable_seqscan": "off",
    "idle_in_transaction_session_timeout": "10s",
    "jit": "off",  # compiling takes longer than any of our statements
    "lock_timeout": "3s",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "timezone": "UTC",
}

DEFAULTS: Final = {
    "application_name": "glasswarden",
    "connect_timeout": "3",
    # A peer that is gone without a word is noticed within seconds, idle or not.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "tcp_user_timeout": "8000",
}
"""What the address may say otherwise."""

_UNAMBIGUOUS: Final = re.compile(r"\w+://([^@/?]*@)?[^@?]*(\?.*)?", re.DOTALL)
_PORTS: Final = re.compile(r"[\d,]*")


def parameters_of(address: str) -> dict[str, str]:
    """Return *address* as libpq's parameters; raise `AddressInvalid`, which tells no password."""
    try:
        told = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    except psycopg.Error:
        # Neither said nor chained: libpq quotes the address, and with it the password.
        raise AddressInvalid(
            "the address of the PostgreSQL ledger cannot be read;"
            " try postgresql://glasswarden@db/glasswarden"
        ) from None
    if not _UNAMBIGUOUS.fullmatch(address) or not _PORTS.fullmatch(told.get("port", "")):
        # Part of a password stands where host or port should; libpq would quote it later.
        raise AddressInvalid(
            "the address of the PostgreSQL ledger has a strange host or port:"
            " write @ : / in a password as %40 %3A %2F"
        )
    ours = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    return {**DEFAULTS, **told, "options": f"{ours} {told.get('options', '')}".rstrip()}
