"""Where a process's records go: to the ledger, or to the spool while the ledger is away.

Records of one chain stay in order: while any of them waits, new ones go behind it.

How a process reaches its ledger from the event loop, and reaches it again after an outage.
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
    commit_seconds,
)

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

    def unwitnessed_heads(self) -> list[Head]:
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


DELIVERED_AT_ONCE: Final = 200
"""Records a commit when a spool is delivered: few enough that nobody waits long behind them."""

FAREWELL_SECONDS: Final = 1.0
"""How long a process that stops goes on delivering; the next one finds the rest."""

log = structlog.get_logger()


class OutcomeUnknown(LedgerUnavailable):
    """The ledger was asked and did not answer, and nothing could be spooled.

    The records may be stored or not. Their places are taken: the chain goes on behind them.
    """


class Store:
    """Takes records in the order of their chain. Belongs to one event loop."""

    def __init__(
        self,
        link: LedgerLink,
        spool: Spool | None,
        clock: TimeSource = machine_time,
        delivery: LedgerLink | None = None,
    ) -> None:
        self._link = link
        self._delivery = delivery or link
        """The way for what waited."""

        self._spool = spool
        self._clock = clock
        self._left: list[Spool] = []
        self._direct = True
        """Whether records go to the ledger. Nothing waits then, of this chain."""

        self._unsure: list[Record] = []
        """Records that the ledger may have; what comes next must not overtake them."""

        self._why = ""
        """Why the ledger is away, since it was said in the log; empty while it is not."""

        self.work = asyncio.Event()
        """Set while there is something to deliver, or to try again."""

        LEDGER_AVAILABLE.set(1)

    async def append(self, records: Sequence[Record]) -> None:
        """Put *records* on a disk, all or none.

        Raises `SpoolUnusable` where none of them is stored, `OutcomeUnknown` where nobody knows,
        and `LedgerConflict` where somebody else stands in their place.
        """
        start = time.perf_counter()
        if self._direct:
            await self._to_ledger(records)
        else:
            self._to_spool(records)
        commit_seconds("ledger" if self._direct else "spool").observe(time.perf_counter() - start)
        COMMITTED_RECORDS.observe(len(records))

    async def _to_ledger(self, records: Sequence[Record]) -> None:
        try:
            await self._link.ask(lambda ledger: ledger.append(records))
        except LedgerConflict:
            raise
        except LedgerError as error:
            self._lose(error)
            # It may have stored them and lost the answer; to store them again does no harm.
            self._unsure = list(records)
            try:
                self._to_spool([])
            except SpoolUnusable as unusable:
                raise OutcomeUnknown(str(unusable)) from unusable
        else:
            self._say_back()

    def _to_spool(self, records: Sequence[Record]) -> None:
        if self._spool is None:
            raise SpoolUnusable(f"the ledger is away ({self._why}), and there is no spool")
        self._spool.append([*self._unsure, *records])
        self._unsure = []
        self._measure()

    async def unwitnessed_heads(self) -> list[Head]:
        """Return the ends of chains that a new one should witness; none while the ledger is away.

        Raises what will not mend by itself, such as tables of another version.
        """
        try:
            if not self._direct:
                return []
            return await self._link.ask(lambda ledger: ledger.unwitnessed_heads())
        except LedgerUnavailable as error:
            self._lose(error)
            return []

    async def open_grants(self, cluster: str, now: datetime) -> list[Record] | None:
        """Return the grants that are open by the ledger; none where it cannot tell.

        While records wait in a spool the ledger does not know of all: not even of our own.
        """
        try:
            if not self._direct:
                return None
            return await self._link.ask(lambda ledger: ledger.open_grants(cluster, now))
        except LedgerUnavailable as error:
            self._lose(error)
        except LedgerError as error:
            log.warning("open grants not counted", reason=str(error))
        return None

    async def adopt(self, folder: Path) -> None:
        """Take up what processes that are gone left in *folder*."""
        found = await asyncio.to_thread(lambda: list(adopt_spools(folder)))
        for spool in found:
            log.info("spool taken up", file=spool.path.name, records=spool.count)
            if spool.damaged:
                log.error("spool damaged", file=spool.path.name, unread_bytes=spool.torn)
            elif spool.torn:
                log.warning("torn line cut off", file=spool.path.name, bytes=spool.torn)
        self._left += found
        if found:
            self._measure()
            self.work.set()

    async def deliver(self) -> None:
        """Bring what waits to the ledger, or raise `LedgerError` while that is away.

        `LedgerConflict` and `SpoolDamaged` say that this chain cannot go on; what waited of it
        was put aside.
        """
        try:
            await self._deliver_left_overs()
            if not self._direct:
                await self._deliver_own()
            self.work.clear()
        except LedgerUnavailable as error:
            self._lose(error)
            raise
        finally:
            self._measure()

    async def _deliver_left_overs(self) -> None:
        while self._left:
            spool = self._left[0]
            try:
                await self._deliver_spool(spool)
            except (LedgerConflict, SpoolDamaged) as error:
                _put_aside(spool, error)
            self._left.pop(0)

    async def _deliver_own(self) -> None:
        if self._unsure:
            await self._bring(self._unsure)
            self._unsure = []
        if self._spool is None:
            await self._delivery.ask(lambda ledger: ledger.unwitnessed_heads())  # is it there?
        else:
            try:
                await self._deliver_spool(self._spool)
            except (LedgerConflict, SpoolDamaged) as error:
                _put_aside(self._spool, error)
                raise
        # Nobody can have added anything since the last look: there was no `await` in between.
        self._direct = True
        self._say_back()

    async def _deliver_spool(self, spool: Spool) -> None:
        count = 0
        while spool.waiting:
            batch = spool.next_batch(DELIVERED_AT_ONCE)
            await self._bring(batch.records)
            spool.acknowledge(batch)
            count += len(batch.records)
            self._measure()
        if count:
            self._say_back()
            log.info("spool delivered", file=spool.path.name, records=count)
        else:
            spool.discard()

    async def _bring(self, records: Sequence[Record]) -> None:
        await self._delivery.ask(lambda ledger: ledger.append(records))

    def continue_with(self, spool: Spool | None) -> None:
        """Forget the chain so far: another one begins, which waits in *spool*."""
        self._spool = spool
        self._unsure = []
        self._direct = True

    async def close(self) -> None:
        """Deliver what can be delivered at once, and give everything back."""
        try:
            if self.work.is_set():
                await asyncio.wait_for(self.deliver(), FAREWELL_SECONDS)
        except (LedgerError, TimeoutError) as error:
            log.warning("records stay in the spool", reason=str(error))
        for spool in (*self._left, *([self._spool] if self._spool else [])):
            spool.close()
        for link in {self._link, self._delivery}:
            try:
                await link.close()
            except LedgerError as error:
                log.warning("ledger not closed", reason=str(error))

    def _lose(self, error: LedgerError) -> None:
        self._direct = False
        self.work.set()
        LEDGER_AVAILABLE.set(0)
        if not self._why:
            log.error("ledger away", reason=str(error), spool=bool(self._spool))
        self._why = str(error)

    def _say_back(self) -> None:
        if self._why:
            self._why = ""
            LEDGER_AVAILABLE.set(1)
            log.info("ledger back")

    def _measure(self) -> None:
        spools = [*self._left, *([self._spool] if self._spool else [])]
        SPOOL_RECORDS.set(sum(spool.count for spool in spools))
        SPOOL_BYTES.set(sum(spool.waiting for spool in spools))
        ages = [(self._clock() - spool.oldest).total_seconds() for spool in spools if spool.oldest]
        SPOOL_AGE.set(max(0.0, *ages, 0.0))


def _put_aside(spool: Spool, error: LedgerError) -> None:
    records = spool.count
    aside = spool.put_aside()
    log.error("spool put aside", file=aside.name, records=records, reason=str(error))
