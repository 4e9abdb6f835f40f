"""What a ledger does, whichever database keeps it. One contract test holds every driver to this."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from glasswarden.ledger.query import Indexed, Question
from glasswarden.ledger.record import Attempt, Head, Record


class Row(Protocol):
    """A record exactly as the database holds it, trusted in nothing: for `fsck` and `export`."""

    @property
    def body(self) -> bytes:
        """Its bytes."""

    @property
    def digest(self) -> str:
        """What is said to be their digest."""

    @property
    def signature(self) -> str:
        """What is said to be the signature over it."""

    @property
    def columns(self) -> Indexed:
        """What it can be found by, but for `fields`."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The paths it can be found by, sorted."""

    def matches(self, attempt: Attempt) -> bool:
        """Tell whether `columns` and `fields` are those of *attempt*."""


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

        What is there already is passed over, so that a delivery can be repeated; another record in
        the same place of a chain raises `LedgerConflict`, a database out of reach
        `LedgerUnavailable`.
        """

    def ask(self, question: Question) -> list[Record]:
        """Return the records that *question* wants, newest first, no more than its limit."""

    def found(self, question: Question) -> list[Row]:
        """Return the rows of what `ask` would; one that cannot be read does not hide the others."""

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:
        """Return the last issue or extension of each grant that is open at *now*, newest first.

        Open is what is neither closed nor expired. An object has one grant at most: a later issue
        or closing on the same object ends what was recorded before, also where the API server
        tried a write again and each try was given a grant.
        """

    def gaps(self, cluster: str) -> list[Record]:
        """Return what says that writes to *cluster* went unrecorded, newest first."""

    def heads(self) -> list[Head]:
        """Return the end of every chain."""

    def unwitnessed(self) -> list[Head]:
        """Return the ends of chains that moved since an `Opened` last named them."""

    def witnessed(self) -> dict[str, int]:
        """Return how far each chain was named by an `Opened`, as the database's own list says."""

    def unwitness(self, writer: str, through: int) -> None:
        """Have the chain named again behind *through*: what named it farther on is gone."""

    def writers(self) -> list[str]:
        """Return whose records there are, sorted: asked of the records, not of any list."""

    def signed(self) -> Iterator[Row]:
        """Yield the rows that carry a signature by id, oldest first; there are few."""

    def rows(
        self, writer: str, after: int | None = None, through: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of one chain in order of sequence, from behind *after*, up to *through*.

        Without them all: also those in places that no chain has, below 1.
        """

    def find(self, record_id: str) -> Row | None:
        """Return the row with this id."""

    def oldest_first(self, since: datetime | None = None) -> Iterator[Row]:
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
        """Cut a chain's places up to *through* but those in *keep*; store *stone*, all at once.

        Raises `HoldAdded` where a ticket is under legal hold that is not in *held*: whoever chose
        what to keep did not know of it.
        """

    def holds(self) -> list[LegalHold]:
        """Return the legal holds in force, oldest first."""

    def hold(self, hold: LegalHold) -> None:
        """Put a legal hold on a ticket; one that is there stays as it is."""

    def release(self, ticket: str) -> bool:
        """Lift the hold on *ticket*; tell whether there was one."""

    def close(self) -> None:
        """Give the database back."""
