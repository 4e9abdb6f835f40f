"""Durable before the answer: entries that arrive together are chained and committed together.

Writes that were answered while nothing could be recorded: counted, and told later.
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
from webhook.metrics import show_head
from webhook.recording.store import LedgerLink, OutcomeUnknown, Store
from webhook.review import RecorderClosed, RecorderOverloaded


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """So many writes in such a time."""

    since: datetime
    until: datetime
    why: str
    count: int = 0
    """How many were let through."""

    refused: int = 0

    def and_one(self, now: datetime, *, is_allowed: bool) -> "Unrecorded":
        """Return this with a write more; a clock that was put back does not turn it round."""
        return replace(
            self,
            until=max(self.until, now),
            count=self.count + is_allowed,
            refused=self.refused + (not is_allowed),
        )

    def entry(self, cluster: str, now: datetime, random: bytes) -> Gap:
        """Return what the ledger is told, as soon as it can be told anything."""
        return Gap(
            format=FORMAT,
            id=new_id(now, random),
            time=now,
            cluster=cluster,
            since=self.since,
            until=self.until,
            count=self.count,
            refused=self.refused,
            why=self.why,
        )


def joined(one: Unrecorded | None, other: Unrecorded | None) -> Unrecorded | None:
    """Return both as one gap."""
    if one is None or other is None:
        return one or other
    return Unrecorded(
        min(one.since, other.since),
        max(one.until, other.until),
        one.why,
        one.count + other.count,
        one.refused + other.refused,
    )


MOST_WAITING: Final = 1000
"""Entries that wait for a commit; more would wait longer than the API server does."""

MOST_AT_ONCE: Final = 250
"""Entries in a commit."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between tries to reach a ledger that is away."""

NewSpool = Callable[[str], Spool]
Waiting = list[tuple[Attempt, asyncio.Future[Record]]]

log = structlog.get_logger()


class Recorder:
    """The one writer of a process. Belongs to one event loop; not safe from other threads."""

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
        self._waiting: Waiting = []
        self._flushing: asyncio.Task[None] | None = None
        self._is_shared = False
        """Whether the last commit had several entries."""

        self._gap: Unrecorded | None = None
        self._closed = False
        self.store = Store(link, self._spool(), clock, delivery)

    async def open(self) -> None:
        """Begin the chain; where nothing can be stored now, its beginning comes with the rest."""
        try:
            await self._append([])
        except (LedgerUnavailable, SpoolUnusable) as error:
            log.warning("chain not begun yet", reason=str(error))

    async def record(self, entry: Attempt) -> Record:
        """Return *entry*'s record once it is on a disk; raise `LedgerError` where it is not."""
        if self._closed:
            raise RecorderClosed("this process records nothing more")
        if len(self._waiting) >= MOST_WAITING:
            raise RecorderOverloaded(f"{MOST_WAITING} writes wait to be recorded already")
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
        """Count a write that is answered without a record; a `Gap` tells of it later."""
        now = self._clock()
        gap = self._gap or Unrecorded(now, now, why)
        self._gap = gap.and_one(now, is_allowed=is_allowed)

    async def deliver(self) -> None:
        """Bring what could not be stored to the ledger, for as long as the process lives."""
        pause = FIRST_PAUSE
        while True:
            await self.store.work.wait()
            try:
                await self.store.deliver()
            except (LedgerConflict, SpoolDamaged) as error:
                self._begin_anew(error)
                continue
            except LedgerError:
                pass  # the store says so
            except Exception:
                # Whatever it is: without this task nothing is delivered until the process ends.
                log.exception("delivery failed")
            else:
                pause = FIRST_PAUSE
                self._flush_soon()
                continue
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            pause = min(2 * pause, LONGEST_PAUSE)

    async def close(self) -> None:
        """Record what waits, end the chain, and give the ledger back."""
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
                refused=self._gap.refused,
                since=self._gap.since.isoformat(),
            )
        await self.store.close()

    def _flush_soon(self) -> None:
        """Have what waits stored, after every request that this turn of the loop has read."""
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        """Store what waits, and what comes while that is being stored."""
        try:
            await self._gather()
            await self._store_batch()
            while self._waiting:
                await self._store_batch()
        finally:
            self._flushing = None
            if self._waiting:
                self._flush_soon()

    async def _gather(self) -> None:
        """Where the last commit was shared, let those in who are on their way to the next one.

        Another turn of the loop costs less than another commit; who is alone does not wait for it.
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
            _fail(batch, error)
            return
        except BaseException as error:  # nobody is left waiting, whatever it is
            _fail(batch, error)
            raise
        for (_, future), record in zip(batch, records, strict=True):
            if not future.done():  # the caller may have hung up
                future.set_result(record)

    async def _append(self, entries: Sequence[AnyEntry]) -> list[Record]:
        """Return *entries* as records, once they and what must stand before them are stored."""
        first, gap = await self._owed()
        if not first and not entries:
            return []
        records = self._chain.link([*first, *entries])
        try:
            await self.store.append(records)
        except LedgerConflict as error:
            self._gap = joined(gap, self._gap)
            self._begin_anew(error)
            raise
        except OutcomeUnknown:
            self._chain.advance(records)
            raise
        except LedgerError:
            self._gap = joined(gap, self._gap)
            raise
        self._chain.advance(records)
        show_head(records[-1].entry)
        return records[len(first) :]

    async def _owed(self) -> tuple[list[AnyEntry], Unrecorded | None]:
        """Return what has to be recorded before anything else: a beginning, a gap."""
        owed: list[AnyEntry] = []
        if self._chain.head.sequence == 0:
            heads, now = await self.store.unwitnessed_heads(), self._clock()
            owed.append(new_opening(self._cluster, heads, self._signer, now, os.urandom(10)))
        gap, self._gap = self._gap, None
        if gap is not None:
            owed.append(gap.entry(self._cluster, self._clock(), os.urandom(10)))
        return owed, gap

    def _begin_anew(self, error: LedgerError) -> None:
        """Leave a chain that somebody else has written to, and begin another."""
        self._chains += 1
        log.error("chain abandoned", writer=self._chain.writer, reason=str(error))
        self._chain = Chain(f"{self._writer}-{self._chains}", self._signer)
        self.store.continue_with(self._spool())

    def _spool(self) -> Spool | None:
        return self._new_spool(self._chain.writer) if self._new_spool else None


def _fail(batch: Waiting, error: BaseException) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
