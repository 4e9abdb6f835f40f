"""Durable before the answer: entries that arrive together are chained and committed together."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from glasswarden.ledger.chain import Chain
from glasswarden.ledger.checkpoints import closing, opening
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.keys import Keys
from glasswarden.ledger.record import AnyEntry, Attempt, Head, Record


class Ledger(Protocol):
    """Where records are kept, as far as a writer is concerned."""

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none, or raise `LedgerError`."""

    def unwitnessed(self) -> list[Head]:
        """Return the ends of chains that moved since they were last witnessed."""

    def close(self) -> None:
        """Give the database back."""


class Recorder:
    """The one writer of a process. Belongs to one event loop; not safe from other threads."""

    def __init__(self, ledger: Ledger, writer: str, cluster: str, keys: Keys) -> None:
        self.masks = keys.masks
        self._ledger = ledger
        self._chain = Chain(writer, keys.signer)
        self._cluster = cluster
        self._signer = keys.signer
        self._waiting: list[tuple[Attempt, asyncio.Future[Record]]] = []

    def open(self) -> None:
        """Begin the chain."""
        heads, now = self._ledger.unwitnessed(), datetime.now(UTC)
        self._append([opening(self._cluster, heads, self._signer, now, os.urandom(10))])

    async def record(self, entry: Attempt) -> Record:
        """Return *entry*'s record once it is on the disk; raise `LedgerError` where it is not."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            # Runs after every request that this turn of the loop has read: they share the commit.
            loop.call_soon(self._commit)
        future: asyncio.Future[Record] = loop.create_future()
        self._waiting.append((entry, future))
        return await future

    def close(self) -> None:
        """End the chain, and give the ledger back."""
        self._append([closing(self._cluster, self._signer, datetime.now(UTC), os.urandom(10))])
        self._ledger.close()

    def _append(self, entries: Sequence[AnyEntry]) -> list[Record]:
        records = self._chain.link(entries)
        self._ledger.append(records)
        self._chain.advance(records)
        return records

    def _commit(self) -> None:
        batch, self._waiting = self._waiting, []
        try:
            records = self._append([entry for entry, _ in batch])
        except LedgerError as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), record in zip(batch, records, strict=True):
            if not future.done():  # the caller may have hung up
                future.set_result(record)
