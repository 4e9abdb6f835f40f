"""The errors of a ledger, named for what the caller should do about them."""


class LedgerError(Exception):
    """Base class of the ledger's errors."""


class AddressInvalid(LedgerError):
    """The ledger's address names no supported database; correct the setting."""


class DriverMissing(LedgerError):
    """The driver for this database is not installed; install it."""


class LedgerMissing(LedgerError):
    """There is no ledger at that address; correct it, or run `glasswarden ledger migrate`."""


class LedgerUnavailable(LedgerError):
    """The database cannot be reached or written now; nothing was stored. Try again later."""


class LedgerDamaged(LedgerUnavailable):
    """The database is damaged; restore it from a copy."""


class LedgerConflict(LedgerError):
    """Another record is in that place of the chain: one of them is forged."""


class HoldAdded(LedgerError):
    """A legal hold was added since the pruning was planned; nothing was removed. Plan again."""


class SpoolUnusable(LedgerError):
    """The spool is full or cannot be written; the policy's rules for an outage apply."""


class SpoolDamaged(LedgerError):
    """The spool cannot be read back; keep the file for inspection, and begin another chain."""


class MigrationNeeded(LedgerError):
    """The database's tables are not of this version; run `glasswarden ledger migrate`."""


class LaterTables(MigrationNeeded):
    """The database's tables are of a version that this program does not know; run a later one."""


class RecordMalformed(LedgerError):
    """The stored bytes are not a record."""


class KeyUnusable(LedgerError):
    """The key that signs checkpoints cannot be read or made; correct the keys' folder."""
