"""The ledger protocol. One contract test suite verifies every driver against it."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from glasswarden.ledger.query import IndexedColumns, Question
from glasswarden.ledger.record import Attempt, Head, Record


class Row(Protocol):
    """A record exactly as the database holds it, not verified: for `fsck` and `export`."""

    @property
    def body(self) -> bytes:
        """Its bytes."""

    @property
    def digest(self) -> str:
        """The stored digest."""

    @property
    def signature(self) -> str:
        """The stored signature."""

    @property
    def columns(self) -> IndexedColumns:
        """Its indexed columns, without `fields`."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Its indexed paths, sorted."""

    def matches(self, attempt: Attempt) -> bool:
        """Return whether `columns` and `fields` are those of *attempt*."""


class LegalHold(NamedTuple):
    """A ticket whose records must not be pruned."""

    ticket: str
    since: datetime
    by: str
    why: str


class Ledger(Protocol):
    """Records in a database. An instance belongs to one thread."""

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none; when this returns they are on the disk.

        Records that are there already are skipped, so that a delivery can be repeated. Another
        record in the same place of a chain raises `LedgerConflict`, an unavailable database
        `LedgerUnavailable`.
        """

    def ask(self, question: Question) -> list[Record]:
        """Return the records that *question* wants, newest first, no more than its limit."""

    def find_rows(self, question: Question) -> list[Row]:
        """Return the rows of what `ask` returns; an unreadable one does not hide the others."""

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:
        """Return the last issue or extension of each grant that is open at *now*, newest first.

        Open is what is neither closed nor expired. An object has one grant at most: a later issue
        or closing on the same object ends what was recorded before, also where the API server
        tried a write again and each try was given a grant.
        """

    def gaps(self, cluster: str) -> list[Record]:
        """Return the gaps: records of writes to *cluster* that went unrecorded, newest first."""

    def heads(self) -> list[Head]:
        """Return the end of every chain."""

    def unwitnessed_heads(self) -> list[Head]:
        """Return the ends of chains that moved since an `Opened` last named them."""

    def witnessed_places(self) -> dict[str, int]:
        """Return how far each chain was named by an `Opened`, as the database's own list says."""

    def unwitness(self, writer: str, through: int) -> None:
        """Mark the chain as witnessed up to *through* only: what named it further was removed."""

    def writers(self) -> list[str]:
        """Return the writers of all records, sorted: by the records, not by the list of chains."""

    def signed_rows(self) -> Iterator[Row]:
        """Yield the rows that carry a signature by id, oldest first; there are few."""

    def rows(
        self, writer: str, after: int | None = None, through: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of one chain by sequence, after *after*, up to *through*.

        Without bounds all rows, also those in places that no chain has, below 1.
        """

    def find(self, record_id: str) -> Row | None:
        """Return the row with this id."""

    def rows_since(self, since: datetime | None = None) -> Iterator[Row]:
        """Yield all rows by id, oldest first, a few at a time."""

    def remove(
        self,
        writer: str,
        through: int,
        keep: Sequence[int],
        stone: Record,
        *,
        held: Collection[str] = (),
    ) -> None:
        """Remove a chain's places up to *through* except those in *keep*; store *stone*; atomic.

        Raises `HoldAdded` if a ticket is under a legal hold that is not in *held*: the choice of
        what to keep did not consider it.
        """

    def holds(self) -> list[LegalHold]:
        """Return the legal holds in force, oldest first."""

    def hold(self, hold: LegalHold) -> None:
        """Place a legal hold on a ticket; an existing one stays as it is."""

    def release(self, ticket: str) -> bool:
        """Release the hold on *ticket*; return whether there was one."""

    def close(self) -> None:
        """Close the connection to the database."""
