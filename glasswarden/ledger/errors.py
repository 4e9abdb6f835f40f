"""What can go wrong with a ledger, named for what the caller should do about it."""


class LedgerError(Exception):
    """Anything that keeps a ledger from doing its work."""


class AddressInvalid(LedgerError):
    """The ledger's address names no database that we know; correct the setting."""


class LedgerUnavailable(LedgerError):
    """The database cannot be reached or written now; nothing was stored."""
