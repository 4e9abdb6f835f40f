"""How a process reaches its ledger from the event loop, and reaches it again after an outage."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Final, Protocol, TypeVar

from glasswarden.ledger.address import file_of, is_postgres, open_ledger
from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.record import Head, Record
from glasswarden.ledger.sqlite import open_sqlite

T = TypeVar("T")

PATIENCE_SECONDS: Final = 2.0
"""A database over the network that says nothing for so long counts as away: the API server waits
only a few seconds for an answer."""

STANDSTILL_SECONDS: Final = 1.5
"""How long the event loop waits for another's lock on a file; then the spool takes the records."""


class Ledger(Protocol):
    """A ledger, as far as a writer is concerned."""

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none; pass over those that are there."""

    def unwitnessed(self) -> list[Head]:
        """Return the ends of chains that moved since they were last witnessed."""

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:
        """Return the last issue or extension of each grant that is open at *now*."""

    def close(self) -> None:
        """Give the database back."""


class LedgerLink(Protocol):
    """A ledger, as the event loop asks it."""

    async def ask(self, act: Callable[[Ledger], T]) -> T:
        """Return what *act* makes of the ledger; raise `LedgerError`."""

    async def close(self) -> None:
        """Give the database back."""


def links_to(address: str) -> tuple[LedgerLink, LedgerLink]:
    """Return the ways to the ledger at *address*: for new records, and for those that waited.

    Nothing is opened yet. They are one way to a server. To a file there is a second, through a
    thread: where an outage is a lock that somebody holds, the loop must not wait for it again and
    again.
    """
    if is_postgres(address):
        server = ThreadLink(lambda: open_ledger(address))
        return server, server
    file = file_of(address)
    inline = InlineLink(lambda: open_sqlite(file, patience=STANDSTILL_SECONDS))
    return inline, ThreadLink(lambda: open_sqlite(file))


class _Held:
    """A ledger that is opened when it is needed, and anew after it was out of reach."""

    def __init__(self, connect: Callable[[], Ledger]) -> None:
        self._connect = connect
        self._ledger: Ledger | None = None

    def ask(self, act: Callable[[Ledger], T]) -> T:
        if self._ledger is None:
            self._ledger = self._connect()
        try:
            return act(self._ledger)
        except LedgerUnavailable:
            self.close()
            raise

    def close(self) -> None:
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            ledger.close()


class InlineLink:
    """For a file on this machine: its commit takes less time than handing it to a thread."""

    def __init__(self, connect: Callable[[], Ledger]) -> None:
        self._held = _Held(connect)

    async def ask(self, act: Callable[[Ledger], T]) -> T:
        """Return what *act* makes of the ledger; the loop stands still meanwhile."""
        return self._held.ask(act)

    async def close(self) -> None:
        """Give the database back."""
        self._held.close()


class ThreadLink:
    """For a server: one thread has the one connection, and the loop goes on meanwhile.

    What takes longer than our patience may still be stored after it was given up.
    """

    def __init__(self, connect: Callable[[], Ledger], patience: float = PATIENCE_SECONDS) -> None:
        self._held = _Held(connect)
        self._patience = patience
        self._thread = ThreadPoolExecutor(1, "ledger")

    async def ask(self, act: Callable[[Ledger], T]) -> T:
        """Return what *act* makes of the ledger, in time."""
        return await self._in_time(lambda: self._held.ask(act))

    async def close(self) -> None:
        """Give the database back, unless it does not even take that."""
        try:
            await self._in_time(self._held.close)
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def _in_time(self, act: Callable[[], T]) -> T:
        asked = asyncio.get_running_loop().run_in_executor(self._thread, act)
        try:
            return await asyncio.wait_for(asked, self._patience)
        except TimeoutError as error:
            raise LedgerUnavailable(
                f"the ledger has not answered for {self._patience:g} s"
            ) from error
