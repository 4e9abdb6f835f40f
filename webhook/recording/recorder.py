"""Makes each write durable before its answer; entries that arrive together share a commit.

Writes that were answered while nothing could be recorded are counted; a `Gap` records them later.
"""

import asyncio
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import structlog

from glasswarden.ledger.chain import Chain, new_closing, new_opening
from glasswarden.ledger.errors import (
    LedgerConflict,
    LedgerError,
    LedgerUnavailable,
    SpoolDamaged,
    SpoolUnusable,
)
from glasswarden.ledger.keys import Keys
from glasswarden.ledger.record import FORMAT, AnyEntry, Attempt, Gap, Record, new_id
from glasswarden.ledger.spool import Spool
from webhook.clock import TimeSource, machine_time
from webhook.metrics import publish_head
from webhook.recording.store import LedgerLink, OutcomeUnknown, Store
from webhook.review import RecorderClosed, RecorderOverloaded


@dataclass(frozen=True, slots=True)
class UnrecordedWrites:
    """Writes that were answered without a record: how many, and when."""

    since: datetime
    until: datetime
    why: str
    count: int = 0
    """How many were allowed."""

    denied: int = 0

    def count_write(self, now: datetime, *, is_allowed: bool) -> "UnrecordedWrites":
        """Return this with one more write; a clock that was set back does not reverse the times."""
        return replace(
            self,
            until=max(self.until, now),
            count=self.count + is_allowed,
            denied=self.denied + (not is_allowed),
        )

    def new_gap(self, cluster: str, now: datetime, random: bytes) -> Gap:
        """Return the entry that records these writes."""
        return Gap(
            format=FORMAT,
            id=new_id(now, random),
            time=now,
            cluster=cluster,
            since=self.since,
            until=self.until,
            count=self.count,
            refused=self.denied,
            why=self.why,
        )


def join_gaps(
    one: UnrecordedWrites | None, other: UnrecordedWrites | None
) -> UnrecordedWrites | None:
    """Return both as one."""
    if one is None or other is None:
        return one or other
    return UnrecordedWrites(
        min(one.since, other.since),
        max(one.until, other.until),
        one.why,
        one.count + other.count,
        one.denied + other.denied,
    )


MOST_WAITING: Final = 1000
"""Entries that wait for a commit; with more, the API server would not wait for the last."""

MOST_AT_ONCE: Final = 250
"""Entries in one commit."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between attempts to reach an unavailable ledger."""

NewSpool = Callable[[str], Spool]
PendingEntries = list[tuple[Attempt, asyncio.Future[Record]]]

log = structlog.get_logger()


class Recorder:
    """The only writer of a process. It belongs to one event loop and is not thread-safe."""

    def __init__(
        self,
        link: LedgerLink,
        writer: str,
        cluster: str,
        keys: Keys,
        new_spool: NewSpool | None = None,
        clock: TimeSource = machine_time,
        delivery: LedgerLink | None = None,
    ) -> None:
        self.masks = keys.masks
        self._writer = writer
        self._cluster = cluster
        self._signer = keys.signer
        self._clock = clock
        self._new_spool = new_spool
        self._chain = Chain(writer, keys.signer)
        self._chains = 1
        self._waiting: PendingEntries = []
        self._flushing: asyncio.Task[None] | None = None
        self._is_shared = False
        """Whether the last commit had several entries."""

        self._gap: UnrecordedWrites | None = None
        self._closed = False
        self.store = Store(link, self._new_chain_spool(), clock, delivery)

    async def open(self) -> None:
        """Start the chain; if nothing can be stored now, it starts with the first record."""
        try:
            await self._append([])
        except (LedgerUnavailable, SpoolUnusable) as error:
            log.warning("chain not started", reason=str(error))

    async def record(self, entry: Attempt) -> Record:
        """Return the record of *entry* once it is on a disk; raise `LedgerError` if it is not."""
        if self._closed:
            raise RecorderClosed("this process is stopping and records nothing more")
        if len(self._waiting) >= MOST_WAITING:
            raise RecorderOverloaded(f"{MOST_WAITING} writes already wait to be recorded")
        future: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, future))
        self._flush_soon()
        return await future

    async def open_grants(self, cluster: str, now: datetime) -> list[Attempt] | None:
        """Return the last record, by any writer, of each grant open in *cluster*; none if unknown.

        The policy names the cluster, and may be reloaded with another name.
        """
        found = await self.store.open_grants(cluster, now)
        if found is None:
            return None
        return [record.entry for record in found if isinstance(record.entry, Attempt)]

    def count_unrecorded(self, why: str, *, is_allowed: bool) -> None:
        """Count a write that is answered without a record; a `Gap` records it later."""
        now = self._clock()
        gap = self._gap or UnrecordedWrites(now, now, why)
        self._gap = gap.count_write(now, is_allowed=is_allowed)

    async def deliver(self) -> None:
        """Deliver waiting records to the ledger, for as long as the process runs."""
        pause = FIRST_PAUSE
        while True:
            await self.store.work.wait()
            try:
                await self.store.deliver()
            except (LedgerConflict, SpoolDamaged) as error:
                self._start_new_chain(error)
                continue
            except LedgerError:
                pass  # the store logs it
            except Exception:
                # Without this task, nothing would be delivered until the process ends.
                log.exception("delivery failed")
            else:
                pause = FIRST_PAUSE
                self._flush_soon()
                continue
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            pause = min(2 * pause, LONGEST_PAUSE)

    async def close(self) -> None:
        """Record waiting entries, end the chain, and close the ledger."""
        self._closed = True
        if self._flushing is not None:
            await self._flushing
        try:
            now = self._clock()
            await self._append([new_closing(self._cluster, self._signer, now, os.urandom(10))])
        except LedgerError as error:
            log.warning("chain not closed", reason=str(error))
        if self._gap is not None:
            log.error(
                "gap not recorded",
                writes=self._gap.count,
                denied=self._gap.denied,
                since=self._gap.since.isoformat(),
            )
        await self.store.close()

    def _flush_soon(self) -> None:
        """Store waiting entries after all requests that this iteration of the loop has read."""
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        """Store waiting entries, and those that arrive meanwhile."""
        try:
            await self._wait_for_more()
            await self._store_batch()
            while self._waiting:
                await self._store_batch()
        finally:
            self._flushing = None
            if self._waiting:
                self._flush_soon()

    async def _wait_for_more(self) -> None:
        """After a shared commit, wait for entries that are about to arrive.

        An iteration of the loop costs less than a commit. A single writer does not wait.
        """
        seen = 0
        while self._is_shared and seen < len(self._waiting) < MOST_AT_ONCE:
            seen = len(self._waiting)
            await asyncio.sleep(0)

    async def _store_batch(self) -> None:
        self._is_shared = len(self._waiting) > 1
        batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        try:
            records = await self._append([entry for entry, _ in batch])
        except LedgerError as error:
            _fail_all(batch, error)
            return
        except BaseException as error:  # no caller may wait forever
            _fail_all(batch, error)
            raise
        for (_, future), record in zip(batch, records, strict=True):
            if not future.done():  # the caller may have disconnected
                future.set_result(record)

    async def _append(self, entries: Sequence[AnyEntry]) -> list[Record]:
        """Return *entries* as records, after they and required entries before them are stored."""
        first, gap = await self._take_required_entries()
        if not first and not entries:
            return []
        records = self._chain.link([*first, *entries])
        try:
            await self.store.append(records)
        except LedgerConflict as error:
            self._gap = join_gaps(gap, self._gap)
            self._start_new_chain(error)
            raise
        except OutcomeUnknown:
            self._chain.advance(records)
            raise
        except LedgerError:
            self._gap = join_gaps(gap, self._gap)
            raise
        self._chain.advance(records)
        publish_head(records[-1].entry)
        return records[len(first) :]

    async def _take_required_entries(self) -> tuple[list[AnyEntry], UnrecordedWrites | None]:
        """Return the entries that must come first: the start of the chain, a gap."""
        required: list[AnyEntry] = []
        if self._chain.head.sequence == 0:
            heads, now = await self.store.unwitnessed_heads(), self._clock()
            required.append(new_opening(self._cluster, heads, self._signer, now, os.urandom(10)))
        gap, self._gap = self._gap, None
        if gap is not None:
            required.append(gap.new_gap(self._cluster, self._clock(), os.urandom(10)))
        return required, gap

    def _start_new_chain(self, error: LedgerError) -> None:
        """Abandon a chain that another writer has written to, and start a new one."""
        self._chains += 1
        log.error("chain abandoned", writer=self._chain.writer, reason=str(error))
        self._chain = Chain(f"{self._writer}-{self._chains}", self._signer)
        self.store.continue_with(self._new_chain_spool())

    def _new_chain_spool(self) -> Spool | None:
        return self._new_spool(self._chain.writer) if self._new_spool else None


def _fail_all(batch: PendingEntries, error: BaseException) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
