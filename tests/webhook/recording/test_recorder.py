"""The recorder: in order, once, and durable before the answer, whatever state the ledger is in."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from glasswarden.ledger.errors import LedgerError, LedgerUnavailable, MigrationNeeded
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import file_of, open_ledger
from glasswarden.ledger.record import Attempt, Head, Record
from glasswarden.ledger.spool import new_spool
from tests.ledger.builders import KEYS, TIME, a_chain, an_attempt
from tests.ledger.chains import bodies_of, by_chain, of_type
from webhook.recording import recorder as module
from webhook.recording.recorder import Recorder
from webhook.recording.store import InlineLink, LedgerLink, ThreadLink, links_to
from webhook.review import RecorderClosed, RecorderOverloaded


@dataclass
class Moody:
    """A real ledger that is unavailable on request; opened by the thread that first asks it."""

    address: str
    away: bool = False
    forgetful: bool = False
    """Whether it stores, and then fails to say so."""

    commits: list[int] = field(default_factory=list)

    @cached_property
    def ledger(self) -> Ledger:
        return open_ledger(self.address)

    def append(self, records: Sequence[Record]) -> None:
        if self.away:
            raise LedgerUnavailable("the database has gone")
        self.ledger.append(records)
        self.commits.append(len(records))
        if self.forgetful:
            raise LedgerUnavailable("the answer was lost")

    def unwitnessed_heads(self) -> list[Head]:
        if self.away:
            raise LedgerUnavailable("the database has gone")
        return self.ledger.unwitnessed_heads()

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:
        if self.away:
            raise LedgerUnavailable("the database has gone")
        return self.ledger.open_grants(cluster, now)

    def close(self) -> None:
        self.ledger.close()
        del self.ledger


class Stage:
    """A recorder with a ledger in a folder, and a spool unless configured otherwise."""

    def __init__(self, folder: Path, *, spool: bool = True, limit: int = 1_000_000) -> None:
        self.address = f"sqlite://{folder}/ledger.db"
        self.spool = folder / "spool"
        self.now = TIME
        self._limit, self._spools = limit, spool
        self.ledger = Moody(self.address)

    def recorder(
        self,
        writer: str = "writer-1",
        link: LedgerLink | None = None,
        delivery: LedgerLink | None = None,
    ) -> Recorder:
        new = (lambda name: new_spool(self.spool, name, self._limit)) if self._spools else None
        used = link or InlineLink(lambda: self.ledger)
        return Recorder(used, writer, "test", KEYS, new, clock=lambda: self.now, delivery=delivery)

    def stored(self) -> list[dict[str, Any]]:
        with closing(open_ledger(self.address)) as ledger:
            return bodies_of(ledger)

    def spooled(self) -> list[str]:
        return [path.name for path in self.spool.glob("*.jsonl")] if self.spool.exists() else []

    def close(self) -> None:
        if "ledger" in vars(self.ledger):
            self.ledger.close()


Play = Callable[[Stage], Coroutine[Any, Any, None]]


def played(stage: Stage, play: Play) -> list[dict[str, Any]]:
    """Run *play*; return what the ledger holds afterwards, whose chains must be sound."""
    asyncio.run(play(stage))
    stored = stage.stored()
    stage.close()
    return stored


async def recorded(recorder: Recorder, *entries: Attempt) -> list[Record]:
    return await asyncio.gather(*map(recorder.record, entries))


def attempts(count: int) -> list[Attempt]:
    return [an_attempt() for _ in range(count)]


def types(records: list[dict[str, Any]]) -> list[str]:
    return [record["type"] for record in records]


def ids(records: list[dict[str, Any]]) -> list[str]:
    return [record["id"] for record in of_type(records, "attempt")]


def test_records_that_arrive_together_share_a_commit(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        recorder = stage.recorder()
        await recorder.open()
        await recorded(recorder, *attempts(20))
        await recorder.close()

    stage = Stage(tmp_path)
    assert types(played(stage, play)) == ["opened", *["attempt"] * 20, "closed"]
    assert stage.ledger.commits == [1, 20, 1]


@pytest.mark.parametrize(
    ("before", "commits"),
    [pytest.param(1, [1, 1, 1, 1], id="alone"), pytest.param(2, [1, 2, 2], id="in a crowd")],
)
def test_commit_waits_for_late_records_only_after_a_shared_commit(
    tmp_path: Path, before: int, commits: list[int]
) -> None:
    async def play(stage: Stage) -> None:
        recorder = stage.recorder()
        await recorder.open()
        await recorded(recorder, *attempts(before))

        async def late() -> None:
            await asyncio.sleep(0)
            await recorder.record(an_attempt())

        await asyncio.gather(recorder.record(an_attempt()), late())

    stage = Stage(tmp_path)
    played(stage, play)
    assert stage.ledger.commits == commits


def test_returned_record_is_the_stored_one(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        recorder = stage.recorder()
        await recorder.open()
        [record] = await recorded(recorder, an_attempt())
        with closing(open_ledger(stage.address)) as other:
            [_, row] = other.rows("writer-1")
        assert (row.body, row.digest) == (record.body, record.digest)

    played(Stage(tmp_path), play)


class TestUnavailableLedger:
    def test_spooled_records_are_delivered_in_order(self, tmp_path: Path) -> None:
        entries = attempts(6)

        async def play(stage: Stage) -> None:
            recorder = stage.recorder()
            await recorder.open()
            await recorded(recorder, *entries[:2])
            stage.ledger.away = True
            await recorded(recorder, *entries[2:4])
            stage.ledger.away = False
            await recorded(recorder, *entries[4:])  # behind those that wait
            assert stage.spooled() == ["writer-1.jsonl"]
            await recorder.store.deliver()
            assert stage.spooled() == []
            await recorder.close()

        stored = played(Stage(tmp_path), play)
        assert ids(stored) == [entry.id for entry in entries]
        assert types(stored)[-1] == "closed"

    def test_delivery_resumes_by_itself(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            recorder = stage.recorder()
            await recorder.open()
            task = asyncio.create_task(recorder.deliver())
            stage.ledger.away = True
            await recorded(recorder, *attempts(3))
            stage.ledger.away = False
            while stage.spooled():  # noqa: ASYNC110 - it is a file
                await asyncio.sleep(0.01)
            task.cancel()

        assert len(ids(played(Stage(tmp_path), play))) == 3

    def test_record_stored_without_an_acknowledgement_is_not_stored_twice(
        self, tmp_path: Path
    ) -> None:
        async def play(stage: Stage) -> None:
            recorder = stage.recorder()
            await recorder.open()
            stage.ledger.forgetful = True
            await recorded(recorder, *attempts(2))
            stage.ledger.forgetful = False
            await recorded(recorder, *attempts(2))
            await recorder.close()

        stored = played(Stage(tmp_path), play)
        assert types(stored) == ["opened", *["attempt"] * 4, "closed"]

    def test_recorder_starts_without_the_ledger(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            stage.ledger.away = True
            recorder = stage.recorder()
            await recorder.open()
            await recorded(recorder, *attempts(2))
            stage.ledger.away = False
            await recorder.close()

        assert types(played(Stage(tmp_path), play)) == ["opened", "attempt", "attempt", "closed"]

    def test_spool_of_a_stopped_recorder_is_delivered_by_the_next(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            stage.ledger.away = True
            first = stage.recorder("first")
            await first.open()
            await recorded(first, *attempts(2))
            await first.close()
            stage.ledger.away = False
            second = stage.recorder("second")
            await second.open()
            await second.store.adopt(stage.spool)
            await second.store.deliver()
            assert stage.spooled() == []

        chains = by_chain(played(Stage(tmp_path), play))
        assert [types(chain) for chain in chains] == [
            ["opened", "attempt", "attempt", "closed"],
            ["opened"],
        ]

    def test_tables_of_another_version_prevent_the_start(self, tmp_path: Path) -> None:
        class Older(Moody):
            def unwitnessed_heads(self) -> list[Head]:
                raise MigrationNeeded("version 0")

        async def play(stage: Stage) -> None:
            with pytest.raises(MigrationNeeded):
                await stage.recorder(link=InlineLink(lambda: Older(stage.address))).open()

        played(Stage(tmp_path), play)


class TestOpenGrants:
    def issued(self) -> Attempt:
        over = TIME + timedelta(hours=1)
        return an_attempt(grant="g1", grant_act="issued", grant_expires=over)

    def test_open_grants_of_every_writer_are_found(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            one, other = stage.recorder("one"), stage.recorder("other")
            await recorded(one, self.issued())
            found = await other.open_grants("test", TIME)
            assert found is not None
            assert [each.grant for each in found] == ["g1"]

        played(Stage(tmp_path), play)

    def test_open_grants_are_unknown_while_records_wait(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            recorder = stage.recorder()
            await recorder.open()
            stage.ledger.away = True
            assert await recorder.open_grants("test", TIME) is None
            stage.ledger.away = False
            await recorded(recorder, self.issued())  # goes to the spool
            assert await recorder.open_grants("test", TIME) is None
            await recorder.store.deliver()
            assert await recorder.open_grants("test", TIME) != []

        played(Stage(tmp_path), play)


class TestUnrecorded:
    async def outage(self, stage: Stage) -> None:
        """Lose three writes that nobody counts, then allow two and deny one."""
        recorder = stage.recorder()
        await recorder.open()
        stage.ledger.away = True
        for _ in range(3):
            with pytest.raises(LedgerError):
                await recorder.record(an_attempt())
        stage.now = TIME + timedelta(seconds=5)
        recorder.count_unrecorded("the disk is full", is_allowed=True)
        stage.now = TIME + timedelta(seconds=9)
        recorder.count_unrecorded("the disk is full", is_allowed=False)
        recorder.count_unrecorded("the disk is full", is_allowed=True)
        stage.ledger.away = False
        await recorder.store.deliver()
        await recorder.record(an_attempt())
        await recorder.close()

    def test_gap_is_recorded_before_later_records(self, tmp_path: Path) -> None:
        stored = played(Stage(tmp_path, spool=False), self.outage)
        # Of the first write nobody knew whether it was stored, so it was stored again.
        assert types(stored) == ["opened", "attempt", "gap", "attempt", "closed"]
        [gap] = of_type(stored, "gap")
        assert (gap["count"], gap["refused"], gap["why"]) == (2, 1, "the disk is full")
        assert (gap["since"], gap["until"]) == ("2026-03-01T12:00:05Z", "2026-03-01T12:00:09Z")

    def test_full_spool_causes_a_gap(self, tmp_path: Path) -> None:
        stored = played(Stage(tmp_path, limit=100), self.outage)
        assert types(stored) == ["opened", "attempt", "gap", "attempt", "closed"]

    def test_gap_is_delivered_without_further_writes(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            stage.ledger.away = True
            recorder = stage.recorder()
            await recorder.open()
            recorder.count_unrecorded("no room", is_allowed=True)
            task = asyncio.create_task(recorder.deliver())
            stage.ledger.away = False
            while len(stage.ledger.commits) < 1:  # noqa: ASYNC110 - of a plain list
                await asyncio.sleep(0.01)
            task.cancel()

        assert types(played(Stage(tmp_path, spool=False), play)) == ["opened", "gap"]

    def test_unknown_outcome_of_a_commit_leaves_no_hole_in_the_chain(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            recorder = stage.recorder()
            await recorder.open()
            stage.ledger.forgetful = True
            with pytest.raises(LedgerError):
                await recorder.record(an_attempt())  # stored, but nobody said so
            stage.ledger.forgetful = False
            await recorder.store.deliver()
            await recorder.record(an_attempt())

        stored = played(Stage(tmp_path, spool=False), play)
        assert types(stored) == ["opened", "attempt", "attempt"]


class TestThreadLink:
    def test_event_loop_runs_during_a_commit(self, tmp_path: Path) -> None:
        """What comes meanwhile shares the next commit."""
        held, asked = threading.Event(), threading.Event()

        class Slow(Moody):
            def append(self, records: Sequence[Record]) -> None:
                asked.set()
                held.wait(10)
                super().append(records)

        async def play(stage: Stage) -> None:
            slow = Slow(stage.address)
            recorder = stage.recorder(link=ThreadLink(lambda: slow, patience=30))
            held.set()
            await recorder.open()
            held.clear()
            asked.clear()
            first = asyncio.create_task(recorder.record(an_attempt()))
            assert await asyncio.to_thread(asked.wait, 10)
            rest = [asyncio.create_task(recorder.record(an_attempt())) for _ in range(9)]
            while len(recorder._waiting) < 9:  # noqa: ASYNC110 - of a plain list
                await asyncio.sleep(0)
            assert not any(task.done() for task in (first, *rest))
            held.set()
            await asyncio.gather(first, *rest)
            assert slow.commits == [1, 1, 9]
            await recorder.close()

        played(Stage(tmp_path), play)

    def test_ledger_that_does_not_answer_counts_as_unavailable(self, tmp_path: Path) -> None:
        """Its late commit and the delivery from the spool are one record."""
        held, stuck = threading.Event(), threading.Event()

        class Stuck(Moody):
            def append(self, records: Sequence[Record]) -> None:
                if stuck.is_set():
                    held.wait(10)
                super().append(records)

        async def play(stage: Stage) -> None:
            stuck_one = Stuck(stage.address)
            recorder = stage.recorder(link=ThreadLink(lambda: stuck_one, patience=0.5))
            await recorder.open()
            stuck.set()
            await recorded(recorder, *attempts(2))
            assert stage.spooled() == ["writer-1.jsonl"]
            held.set()
            await recorded(recorder, *attempts(1))
            await recorder.store.deliver()
            await recorder.close()

        stored = played(Stage(tmp_path), play)
        assert types(stored) == ["opened", *["attempt"] * 3, "closed"]


def test_delivery_of_the_spool_delays_no_record(tmp_path: Path) -> None:
    """Another program holds the file's lock: spooled records wait, new ones are answered."""
    asked, held = threading.Event(), threading.Event()

    class Locked(Moody):
        def append(self, records: Sequence[Record]) -> None:
            asked.set()
            held.wait(10)
            super().append(records)

    async def play(stage: Stage) -> None:
        locked = Locked(stage.address)
        recorder = stage.recorder(delivery=ThreadLink(lambda: locked, patience=30))
        await recorder.open()
        stage.ledger.away = True
        await recorded(recorder, *attempts(2))
        stage.ledger.away = False
        delivery = asyncio.create_task(recorder.store.deliver())
        await asyncio.to_thread(asked.wait)
        await recorded(recorder, *attempts(2))
        assert not delivery.done()
        held.set()
        await delivery
        await recorded(recorder, *attempts(1))
        await recorder.close()

    stored = played(Stage(tmp_path), play)
    assert types(stored) == ["opened", *["attempt"] * 5, "closed"]


def test_lock_of_another_program_delays_the_event_loop_only_briefly(
    tmp_path: Path,
) -> None:
    """The spool takes the record before the lock is released, after three seconds."""
    stage = Stage(tmp_path)

    async def play(stage: Stage) -> None:
        link, delivery = links_to(stage.address)
        recorder = stage.recorder(link=link, delivery=delivery)
        await recorder.open()
        other = sqlite3.connect(file_of(stage.address), check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        letting_go = threading.Timer(3, other.close)
        letting_go.start()
        await recorder.record(an_attempt())
        assert stage.spooled() == ["writer-1.jsonl"]
        await asyncio.to_thread(letting_go.join)
        await recorder.store.deliver()
        await recorder.close()

    assert types(played(stage, play)) == ["opened", "attempt", "closed"]


class TestDelivery:
    """Delivery ends only with the process."""

    async def recorded_after(self, stage: Stage, recorder: Recorder) -> None:
        """Deliver in the background until something new reaches the ledger directly."""
        task = asyncio.create_task(recorder.deliver())
        stage.ledger.away = False
        while not stage.ledger.commits or stage.spooled():
            await asyncio.sleep(0.01)
            await recorder.record(an_attempt())
        assert not task.done()
        task.cancel()
        await recorder.close()

    def test_truncated_spool_starts_another_chain(self, tmp_path: Path) -> None:
        """The spooled records are lost, and logged; later ones are recorded in another chain."""

        async def play(stage: Stage) -> None:
            stage.ledger.away = True
            recorder = stage.recorder()
            await recorder.open()
            await recorded(recorder, *attempts(2))
            os.truncate(stage.spool / "writer-1.jsonl", 0)
            with capture_logs() as logged:
                await self.recorded_after(stage, recorder)
            [aside] = [each for each in logged if each["event"] == "spool set aside"]
            assert (aside["file"], aside["records"]) == ("writer-1.jsonl.damaged", 3)

        stage = Stage(tmp_path)
        [chain] = by_chain(played(stage, play))
        assert chain[0]["writer"] == "writer-1-2"

    def test_unforeseen_error_does_not_end_delivery(self, tmp_path: Path) -> None:
        class Broken(Moody):
            failures = 2

            def append(self, records: Sequence[Record]) -> None:
                if self.failures and not self.away:
                    self.failures -= 1
                    raise RuntimeError("a bug")
                super().append(records)

        async def play(stage: Stage) -> None:
            stage.ledger = Broken(stage.address, away=True)
            recorder = stage.recorder()
            await recorder.open()
            await recorded(recorder, *attempts(2))
            with capture_logs() as logged:
                await self.recorded_after(stage, recorder)
            assert [each["event"] for each in logged].count("delivery failed") == 2

        stored = played(Stage(tmp_path), play)
        assert types(stored)[:3] == ["opened", "attempt", "attempt"]


def test_records_beyond_the_queue_limit_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)

    async def play(stage: Stage) -> None:
        recorder = stage.recorder()
        await recorder.open()
        waiting = [asyncio.create_task(recorder.record(entry)) for entry in attempts(3)]
        results = await asyncio.gather(
            *waiting, recorder.record(an_attempt()), return_exceptions=True
        )
        assert [type(each) for each in results] == [Record] * 3 + [RecorderOverloaded]

    assert len(ids(played(Stage(tmp_path), play))) == 3


def test_closed_recorder_records_what_waits_and_rejects_more(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        recorder = stage.recorder()
        await recorder.open()
        waiting = [asyncio.create_task(recorder.record(entry)) for entry in attempts(5)]
        await asyncio.sleep(0)
        await recorder.close()
        await asyncio.gather(*waiting)
        with pytest.raises(RecorderClosed):
            await recorder.record(an_attempt())

    assert types(played(Stage(tmp_path), play)) == ["opened", *["attempt"] * 5, "closed"]


def test_new_chain_contains_the_heads_of_unclosed_chains(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        killed = stage.recorder("killed")
        await killed.open()
        [record] = await recorded(killed, an_attempt())
        after = stage.recorder("after")
        await after.open()
        with closing(open_ledger(stage.address)) as ledger:
            [row] = ledger.rows("after")
        assert record.digest.encode() in row.body

    played(Stage(tmp_path), play)


def test_clock_that_jumps_back_breaks_no_chain(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        recorder = stage.recorder()
        await recorder.open()
        await recorder.record(an_attempt(time=TIME))
        stage.now = TIME - timedelta(days=400)
        await recorder.record(an_attempt(time=stage.now))
        stage.ledger.away = True
        await recorder.record(an_attempt(time=stage.now))
        recorder.count_unrecorded("no room", is_allowed=True)
        stage.now -= timedelta(hours=1)
        recorder.count_unrecorded("no room", is_allowed=True)
        stage.ledger.away = False
        await recorder.store.deliver()
        await recorder.close()

    stored = played(Stage(tmp_path), play)
    assert types(stored) == ["opened", *["attempt"] * 3, "gap", "closed"]
    [gap] = of_type(stored, "gap")
    assert gap["since"] <= gap["until"]


class TestForgedChain:
    def test_chain_with_foreign_records_is_replaced_by_a_new_one(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            recorder = stage.recorder()
            await recorder.open()
            forged = a_chain().link([an_attempt(actor="forger"), an_attempt(actor="forger")])
            stage.ledger.append(forged[1:])
            with pytest.raises(LedgerError):
                await recorder.record(an_attempt())
            await recorder.record(an_attempt())
            await recorder.close()

        stage = Stage(tmp_path)
        asyncio.run(play(stage))
        with closing(open_ledger(stage.address)) as ledger:
            heads = {head.writer: head.sequence for head in ledger.heads()}
        assert heads == {"writer-1": 2, "writer-1-2": 3}
        stage.close()

    def test_spool_of_a_chain_with_foreign_records_is_set_aside(self, tmp_path: Path) -> None:
        async def play(stage: Stage) -> None:
            recorder = stage.recorder()
            await recorder.open()
            stage.ledger.away = True
            await recorded(recorder, *attempts(2))
            stage.ledger.away = False
            forged = a_chain().link([an_attempt(), an_attempt(actor="forger")])
            stage.ledger.append(forged[1:])
            task = asyncio.create_task(recorder.deliver())
            while stage.spooled():  # noqa: ASYNC110 - it is a file
                await asyncio.sleep(0.01)
            await asyncio.sleep(0)
            await recorder.record(an_attempt())
            task.cancel()

        stage = Stage(tmp_path)
        asyncio.run(play(stage))
        [aside] = stage.spool.iterdir()
        assert aside.name == "writer-1.jsonl.damaged"
        assert aside.read_bytes().count(b"\n") == 2
        stage.close()
