"""What can go wrong with a ledger, named for what the caller should do about it."""


class LedgerError(Exception):
    """Anything that keeps a ledger from doing its work."""


class AddressInvalid(LedgerError):
    """The ledger's address names no database that we know; correct the setting."""


class DriverMissing(LedgerError):
    """The package that speaks to this database is not installed; install it."""


class LedgerMissing(LedgerError):
    """There is no ledger at that address; correct it, or let a writer make one."""


class LedgerUnavailable(LedgerError):
    """The database cannot be reached or written now; nothing was stored. Try again later."""


class LedgerDamaged(LedgerUnavailable):
    """The database is not as it was left; restore it from a copy."""


class LedgerConflict(LedgerError):
    """Another record stands in that place of the chain: somebody forged one of them."""


class HoldAdded(LedgerError):
    """A legal hold was put since the cut was planned; nothing was cut. Plan it again."""


class SpoolUnusable(LedgerError):
    """No record can wait here: the spool is full, or cannot be written. The outage rules apply."""


class SpoolDamaged(LedgerError):
    """What waits here cannot be read back; keep the file for people, and begin another chain."""


class MigrationNeeded(LedgerError):
    """The database's tables are not of this version; run `glasswarden ledger migrate`."""


class LaterTables(MigrationNeeded):
    """The database's tables are of a version that this program does not know; run a later one."""


class RecordMalformed(LedgerError):
    """What is stored is no record."""


class KeyUnusable(LedgerError):
    """The key that signs checkpoints cannot be read or made; correct the keys' folder."""
