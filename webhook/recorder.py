"""Durable before the answer: entries that arrive together are chained and committed together."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from glasswarden.ledger.chain import Chain
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.record import Entry, Record


class Ledger(Protocol):
    """Where records are kept, as far as a writer is concerned."""

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none, or raise `LedgerError`."""

    def close(self) -> None:
        """Give the database back."""


class Recorder:
    """The one writer of a process. Belongs to one event loop; not safe from other threads."""

    def __init__(self, ledger: Ledger, chain: Chain) -> None:
        self._ledger = ledger
        self._chain = chain
        self._waiting: list[tuple[Entry, asyncio.Future[Record]]] = []

    async def record(self, entry: Entry) -> Record:
        """Return *entry*'s record once it is on the disk; raise `LedgerError` where it is not."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            # Runs after every request that this turn of the loop has read: they share the commit.
            loop.call_soon(self._commit)
        future: asyncio.Future[Record] = loop.create_future()
        self._waiting.append((entry, future))
        return await future

    def close(self) -> None:
        """Give the ledger back."""
        self._ledger.close()

    def _commit(self) -> None:
        batch, self._waiting = self._waiting, []
        records = self._chain.link(entry for entry, _ in batch)
        try:
            self._ledger.append(records)
        except LedgerError as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        self._chain.advance(records)
        for (_, future), record in zip(batch, records, strict=True):
            if not future.done():  # the caller may have hung up
                future.set_result(record)
