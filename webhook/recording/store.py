"""Stores the records of a process: in the ledger, or in the spool while the ledger is unavailable.

The records of one chain stay in order: while one of them waits in the spool, new ones are added
behind it. A `LedgerLink` gives the event loop access to the ledger, and reconnects after an outage.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, TypeVar

import structlog

from glasswarden.ledger.errors import (
    LedgerConflict,
    LedgerError,
    LedgerUnavailable,
    SpoolDamaged,
    SpoolUnusable,
)
from glasswarden.ledger.open import file_of, is_postgres, open_ledger
from glasswarden.ledger.record import Head, Record
from glasswarden.ledger.spool import Spool, adopt_spools
from glasswarden.ledger.sqlite.file import open_sqlite
from webhook.clock import TimeSource, machine_time
from webhook.metrics import (
    COMMITTED_RECORDS,
    LEDGER_AVAILABLE,
    SPOOL_AGE,
    SPOOL_BYTES,
    SPOOL_RECORDS,
    commit_seconds_of,
)

T = TypeVar("T")

TIMEOUT_SECONDS: Final = 2.0
"""A database server that does not answer for so long counts as unavailable: the API server waits
only a few seconds."""

LOCK_TIMEOUT_SECONDS: Final = 1.5
"""How long the event loop waits for a lock on the file; then the records go to the spool."""


class Ledger(Protocol):
    """A ledger, as far as a writer uses it."""

    def append(self, records: Sequence[Record]) -> None:
        """Store *records*, all or none; skip those that are already stored."""

    def unwitnessed_heads(self) -> list[Head]:
        """Return the ends of chains that moved since they were last witnessed."""

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:
        """Return the last issue or extension of each grant that is open at *now*."""

    def close(self) -> None:
        """Close the database."""


class LedgerLink(Protocol):
    """Access to a ledger from the event loop."""

    async def ask(self, act: Callable[[Ledger], T]) -> T:
        """Return the result of *act* on the ledger; raise `LedgerError`."""

    async def close(self) -> None:
        """Close the database."""


def links_to(address: str) -> tuple[LedgerLink, LedgerLink]:
    """Return the links to the ledger at *address*: for new records, and for waiting ones.

    Nothing is opened yet. For a server, both are the same link. For a file, the second uses a
    thread: if the outage is a lock, the loop must not wait for it repeatedly.
    """
    if is_postgres(address):
        server = ThreadLink(lambda: open_ledger(address))
        return server, server
    file = file_of(address)
    inline = InlineLink(lambda: open_sqlite(file, patience=LOCK_TIMEOUT_SECONDS))
    return inline, ThreadLink(lambda: open_sqlite(file))


class _ReopenedLedger:
    """A ledger that is opened when needed, and reopened after it was unavailable."""

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
    """For a file on this machine: its commit takes less time than a switch to a thread."""

    def __init__(self, connect: Callable[[], Ledger]) -> None:
        self._connection = _ReopenedLedger(connect)

    async def ask(self, act: Callable[[Ledger], T]) -> T:
        """Return the result of *act* on the ledger; this blocks the loop."""
        return self._connection.ask(act)

    async def close(self) -> None:
        """Close the database."""
        self._connection.close()


class ThreadLink:
    """For a server: one thread uses the only connection, and the loop is not blocked.

    An append that exceeds the timeout may still be stored afterwards.
    """

    def __init__(self, connect: Callable[[], Ledger], patience: float = TIMEOUT_SECONDS) -> None:
        self._connection = _ReopenedLedger(connect)
        self._patience = patience
        self._thread = ThreadPoolExecutor(1, "ledger")

    async def ask(self, act: Callable[[Ledger], T]) -> T:
        """Return the result of *act* on the ledger, within the timeout."""
        return await self._run_in_time(lambda: self._connection.ask(act))

    async def close(self) -> None:
        """Close the database; give up after the timeout."""
        try:
            await self._run_in_time(self._connection.close)
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run_in_time(self, act: Callable[[], T]) -> T:
        asked = asyncio.get_running_loop().run_in_executor(self._thread, act)
        try:
            return await asyncio.wait_for(asked, self._patience)
        except TimeoutError as error:
            raise LedgerUnavailable(
                f"the ledger has not answered for {self._patience:g} s"
            ) from error


DELIVERED_AT_ONCE: Final = 200
"""Records in one commit of a delivery: few, so that new records do not wait long."""

LAST_DELIVERY_SECONDS: Final = 1.0
"""How long a stopping process still delivers; the next process delivers the rest."""

log = structlog.get_logger()


class OutcomeUnknown(LedgerUnavailable):
    """The ledger did not answer an append, and the records could not be spooled.

    They may be stored or not. Their sequence numbers are used: the chain continues behind them.
    """


class Store:
    """Stores records in the order of their chain. It belongs to one event loop."""

    def __init__(
        self,
        link: LedgerLink,
        spool: Spool | None,
        clock: TimeSource = machine_time,
        delivery: LedgerLink | None = None,
    ) -> None:
        self._link = link
        self._delivery = delivery or link
        """The link for records that waited."""

        self._spool = spool
        self._clock = clock
        self._left_overs: list[Spool] = []
        self._is_direct = True
        """Whether records go to the ledger; then no record of this chain waits."""

        self._uncertain: list[Record] = []
        """Records that the ledger may have stored; later records must not overtake them."""

        self._reason = ""
        """Why the ledger is unavailable, as logged; empty while it is available."""

        self.work = asyncio.Event()
        """Set while there is something to deliver or to retry."""

        LEDGER_AVAILABLE.set(1)

    async def append(self, records: Sequence[Record]) -> None:
        """Put *records* on a disk, all or none.

        Raises `SpoolUnusable` if none of them is stored, `OutcomeUnknown` if that is unknown, and
        `LedgerConflict` if another writer has used their sequence numbers.
        """
        start = time.perf_counter()
        if self._is_direct:
            await self._append_to_ledger(records)
        else:
            self._append_to_spool(records)
        commit_seconds_of("ledger" if self._is_direct else "spool").observe(
            time.perf_counter() - start
        )
        COMMITTED_RECORDS.observe(len(records))

    async def _append_to_ledger(self, records: Sequence[Record]) -> None:
        try:
            await self._link.ask(lambda ledger: ledger.append(records))
        except LedgerConflict:
            raise
        except LedgerError as error:
            self._mark_unavailable(error)
            # It may have stored them without an answer; storing them again is harmless.
            self._uncertain = list(records)
            try:
                self._append_to_spool([])
            except SpoolUnusable as unusable:
                raise OutcomeUnknown(str(unusable)) from unusable
        else:
            self._mark_available()

    def _append_to_spool(self, records: Sequence[Record]) -> None:
        if self._spool is None:
            raise SpoolUnusable(
                f"the ledger is unavailable ({self._reason}), and there is no spool"
            )
        self._spool.append([*self._uncertain, *records])
        self._uncertain = []
        self._publish_spool_metrics()

    async def unwitnessed_heads(self) -> list[Head]:
        """Return the ends of chains that a new one should witness; none while it is unavailable.

        Raises errors that a retry does not solve, such as tables of another version.
        """
        try:
            if not self._is_direct:
                return []
            return await self._link.ask(lambda ledger: ledger.unwitnessed_heads())
        except LedgerUnavailable as error:
            self._mark_unavailable(error)
            return []

    async def open_grants(self, cluster: str, now: datetime) -> list[Record] | None:
        """Return the open grants in the ledger; none if they cannot be determined.

        While records wait in a spool, the ledger is incomplete.
        """
        try:
            if not self._is_direct:
                return None
            return await self._link.ask(lambda ledger: ledger.open_grants(cluster, now))
        except LedgerUnavailable as error:
            self._mark_unavailable(error)
        except LedgerError as error:
            log.warning("open grants not counted", reason=str(error))
        return None

    async def adopt(self, folder: Path) -> None:
        """Take up what ended processes left in *folder*."""
        found = await asyncio.to_thread(lambda: list(adopt_spools(folder)))
        for spool in found:
            log.info("spool adopted", file=spool.path.name, records=spool.count)
            if spool.damaged:
                log.error("spool damaged", file=spool.path.name, unread_bytes=spool.torn)
            elif spool.torn:
                log.warning("torn line removed", file=spool.path.name, bytes=spool.torn)
        self._left_overs += found
        if found:
            self._publish_spool_metrics()
            self.work.set()

    async def deliver(self) -> None:
        """Deliver waiting records to the ledger; raise `LedgerError` while it is unavailable.

        `LedgerConflict` and `SpoolDamaged` mean that this chain cannot continue; its waiting
        records were set aside.
        """
        try:
            await self._deliver_left_overs()
            if not self._is_direct:
                await self._deliver_own()
            self.work.clear()
        except LedgerUnavailable as error:
            self._mark_unavailable(error)
            raise
        finally:
            self._publish_spool_metrics()

    async def _deliver_left_overs(self) -> None:
        while self._left_overs:
            spool = self._left_overs[0]
            try:
                await self._deliver_spool(spool)
            except (LedgerConflict, SpoolDamaged) as error:
                _set_aside(spool, error)
            self._left_overs.pop(0)

    async def _deliver_own(self) -> None:
        if self._uncertain:
            await self._deliver_records(self._uncertain)
            self._uncertain = []
        if self._spool is None:
            await self._delivery.ask(lambda ledger: ledger.unwitnessed_heads())  # is it there?
        else:
            try:
                await self._deliver_spool(self._spool)
            except (LedgerConflict, SpoolDamaged) as error:
                _set_aside(self._spool, error)
                raise
        # Nothing can have been added since the last check: there was no `await` in between.
        self._is_direct = True
        self._mark_available()

    async def _deliver_spool(self, spool: Spool) -> None:
        count = 0
        while spool.waiting:
            batch = spool.next_batch(DELIVERED_AT_ONCE)
            await self._deliver_records(batch.records)
            spool.acknowledge(batch)
            count += len(batch.records)
            self._publish_spool_metrics()
        if count:
            self._mark_available()
            log.info("spool delivered", file=spool.path.name, records=count)
        else:
            spool.discard()

    async def _deliver_records(self, records: Sequence[Record]) -> None:
        await self._delivery.ask(lambda ledger: ledger.append(records))

    def continue_with(self, spool: Spool | None) -> None:
        """Continue with a new chain, whose records wait in *spool*."""
        self._spool = spool
        self._uncertain = []
        self._is_direct = True

    async def close(self) -> None:
        """Deliver what can be delivered at once, and close everything."""
        try:
            if self.work.is_set():
                await asyncio.wait_for(self.deliver(), LAST_DELIVERY_SECONDS)
        except (LedgerError, TimeoutError) as error:
            log.warning("records left in the spool", reason=str(error))
        for spool in (*self._left_overs, *([self._spool] if self._spool else [])):
            spool.close()
        for link in {self._link, self._delivery}:
            try:
                await link.close()
            except LedgerError as error:
                log.warning("ledger not closed", reason=str(error))

    def _mark_unavailable(self, error: LedgerError) -> None:
        self._is_direct = False
        self.work.set()
        LEDGER_AVAILABLE.set(0)
        if not self._reason:
            log.error("ledger unavailable", reason=str(error), spool=bool(self._spool))
        self._reason = str(error)

    def _mark_available(self) -> None:
        if self._reason:
            self._reason = ""
            LEDGER_AVAILABLE.set(1)
            log.info("ledger available")

    def _publish_spool_metrics(self) -> None:
        spools = [*self._left_overs, *([self._spool] if self._spool else [])]
        SPOOL_RECORDS.set(sum(spool.count for spool in spools))
        SPOOL_BYTES.set(sum(spool.waiting for spool in spools))
        ages = [(self._clock() - spool.oldest).total_seconds() for spool in spools if spool.oldest]
        SPOOL_AGE.set(max(0.0, *ages, 0.0))


def _set_aside(spool: Spool, error: LedgerError) -> None:
    records = spool.count
    aside = spool.put_aside()
    log.error("spool set aside", file=aside.name, records=records, reason=str(error))
