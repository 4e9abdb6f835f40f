"""The findings of fsck: one type for each fault, with one sentence that names the place."""

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="finding"):
    """A fault that no writer of ours produces."""

    chain: str = ""
    sequence: int = 0
    id: str = ""

    @property
    def sentence(self) -> str:
        """What is wrong, for a person."""
        return self._describe()

    def _describe(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        place = f"{self.chain}#{self.sequence}" if self.chain else "ledger"
        return f"{self.__struct_config__.tag}: {place}: {self.sentence}"


class Edited(Finding, frozen=True, kw_only=True, tag="edited"):
    """A record's bytes are not those that its digest was taken of."""

    columns: tuple[str, ...] = ()
    """Those that still hold what the bytes no longer do."""

    def _describe(self) -> str:
        rest = f"; its columns still differ in {', '.join(self.columns)}" if self.columns else ""
        return f"record {self.id} was edited: its bytes do not have its digest{rest}"


class Replaced(Finding, frozen=True, kw_only=True, tag="replaced"):
    """A record and its digest fit each other, but not what follows."""

    def _describe(self) -> str:
        return (
            f"record {self.id} was replaced, digest and all: "
            f"the record at {self.sequence + 1} follows another"
        )


class Contradicted(Finding, frozen=True, kw_only=True, tag="contradicted"):
    """Somebody who saw the chain earlier saw another record in this place."""

    by: str

    def _describe(self) -> str:
        return f"record {self.id} is not the one that {self.by} saw here"


class ColumnMismatch(Finding, frozen=True, kw_only=True, tag="column-mismatch"):
    """The indexed columns are not those of the record."""

    columns: tuple[str, ...]

    def _describe(self) -> str:
        return f"record {self.id} is found by other values than it has: {', '.join(self.columns)}"


class Unreadable(Finding, frozen=True, kw_only=True, tag="unreadable"):
    """The bytes match their digest, but are not a record."""

    def _describe(self) -> str:
        return f"record {self.id} matches its digest, but is not a record"


class Removed(Finding, frozen=True, kw_only=True, tag="removed"):
    """Records are missing in a chain that continues behind them."""

    through: int
    """The last place that is empty."""

    def _describe(self) -> str:
        if self.through == self.sequence:
            return f"the record at {self.sequence} was removed"
        return f"the records from {self.sequence} to {self.through} were removed"


class Reordered(Finding, frozen=True, kw_only=True, tag="reordered"):
    """A record is in a place where it does not belong."""

    belongs: str
    """Its own place, `CHAIN#SEQUENCE`."""

    def _describe(self) -> str:
        return f"record {self.id} is here, but belongs to {self.belongs}"


class DuplicatePlace(Finding, frozen=True, kw_only=True, tag="duplicate-place"):
    """Two records are in one place."""

    def _describe(self) -> str:
        return f"record {self.id} is a second one in this place"


class CutTail(Finding, frozen=True, kw_only=True, tag="cut-tail"):
    """A chain was longer before."""

    through: int
    by: str

    def _describe(self) -> str:
        return (
            f"the tail is cut off: the chain ends before {self.sequence}, "
            f"but {self.by} saw it reach {self.through}"
        )


class MissingChain(Finding, frozen=True, kw_only=True, tag="missing-chain"):
    """Nothing is left of a chain."""

    by: str

    def _describe(self) -> str:
        return f"the whole chain is missing: {self.by} saw it reach {self.sequence}"


class Forged(Finding, frozen=True, kw_only=True, tag="forged"):
    """No holder of a trusted key wrote this."""

    why: str

    def _describe(self) -> str:
        return f"record {self.id} is forged: {self.why}"


class HeadMismatch(Finding, frozen=True, kw_only=True, tag="head-mismatch"):
    """The database's own list of chains is wrong."""

    why: str

    def _describe(self) -> str:
        return f"the ledger's list of chains {self.why}"


class Unpruned(Finding, frozen=True, kw_only=True, tag="unpruned"):
    """A record exists that a tombstone lists as removed."""

    def _describe(self) -> str:
        return f"record {self.id} exists, but the tombstone says that it was pruned"


class HoldMismatch(Finding, frozen=True, kw_only=True, tag="hold-mismatch"):
    """The legal holds in force are not those that were recorded."""

    ticket: str
    why: str

    def _describe(self) -> str:
        return f"the legal hold on {self.ticket} {self.why}"


class Unwitnessed(Finding, frozen=True, kw_only=True, tag="unwitnessed"):
    """The audit log covers the time of a record, but does not contain it."""

    def _describe(self) -> str:
        return f"record {self.id} has no witness: the audit log covers its time, but lacks it"


class RecordMissing(Finding, frozen=True, kw_only=True, tag="record-missing"):
    """The audit log witnessed a record that the ledger does not have."""

    audit_id: str

    def _describe(self) -> str:
        return f"record {self.id} is missing: audit event {self.audit_id} witnessed it"


class WitnessDiffers(Finding, frozen=True, kw_only=True, tag="witness-differs"):
    """The audit log witnessed other bytes."""

    audit_id: str

    def _describe(self) -> str:
        return f"record {self.id} is not the one that audit event {self.audit_id} witnessed"
