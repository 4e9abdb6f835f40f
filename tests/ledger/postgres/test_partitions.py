"""Months are made where a record needs one, and go when nothing is left in them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import psycopg
import pytest

from glasswarden.ledger.errors import LedgerConflict
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.query import Question
from tests.ledger.builders import a_tombstone, an_attempt, records_of

pytestmark = pytest.mark.postgres

Watch: TypeAlias = psycopg.Connection[tuple[str, ...]]
MARCH = datetime(2019, 3, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def address(postgresql_address: str) -> str:
    return postgresql_address


@pytest.fixture
def watch(address: str) -> Iterator[Watch]:
    """Return a connection to look with."""
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


def months(watch: Watch) -> list[str]:
    """Return the partitions of the year 2019 and before."""
    found = watch.execute(
        "SELECT relid::regclass::text FROM pg_partition_tree('glasswarden.record') WHERE isleaf"
        " ORDER BY 1"
    )
    names = [name.rpartition("record_")[2] for (name,) in found]
    return [name for name in names if name < "2020"]


def month_of(watch: Watch, record_id: str) -> str:
    [name] = watch.execute(
        "SELECT tableoid::regclass::text FROM glasswarden.record WHERE id = %s", [record_id]
    ).fetchone() or [""]
    return name.rpartition("record_")[2]


def test_late_record_is_stored_in_the_partition_of_its_month(ledger: Ledger, watch: Watch) -> None:
    ledger.append(records := records_of(an_attempt(time=MARCH)))
    assert ledger.ask(Question()) == records
    assert months(watch) == ["2019_03", "2019_04"]


def test_one_batch_can_span_many_months(ledger: Ledger, watch: Watch) -> None:
    times = [datetime(2018, month, 15, tzinfo=UTC) for month in range(1, 13)]
    ledger.append(records := records_of(*(an_attempt(time=time) for time in times)))
    assert ledger.ask(Question()) == records[::-1]
    assert months(watch)[:12] == [f"2018_{month:02}" for month in range(1, 13)]


@pytest.mark.parametrize(
    ("time", "month"),
    [(MARCH - MILLISECOND, "2019_02"), (MARCH, "2019_03")],
    ids=["last moment", "first moment"],
)
def test_partitions_begin_at_midnight_utc(
    ledger: Ledger, watch: Watch, time: datetime, month: str
) -> None:
    ledger.append(records := records_of(an_attempt(time=time)))
    assert month_of(watch, records[0].entry.id) == month


def test_concurrent_writers_can_create_the_same_partition(ledger: Ledger, address: str) -> None:
    def deliver(writer: str) -> None:
        with closing(open_ledger(address)) as other:
            other.append(records_of(an_attempt(time=MARCH), writer=writer))

    with ThreadPoolExecutor(6) as pool:
        [*pool.map(deliver, "abcdef")]
    assert len(ledger.ask(Question())) == 6


def test_sequence_number_is_unique_across_partitions(ledger: Ledger) -> None:
    ledger.append(records := records_of(an_attempt(time=MARCH)))
    with pytest.raises(LedgerConflict, match="at 1 in the chain of writer-1"):
        ledger.append(records_of(an_attempt(time=MARCH + timedelta(days=40))))
    assert ledger.ask(Question()) == records


def test_one_of_two_concurrent_records_with_the_same_sequence_number_is_rejected(
    address: str,
) -> None:
    """The months differ, so only the chain's row stands between them."""

    def take(month: int) -> bool:
        time = MARCH.replace(month=month)
        with closing(open_ledger(address)) as ledger:
            try:
                ledger.append(records_of(an_attempt(time=time)))
            except LedgerConflict:
                return False
            return True

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(take, range(3, 9))) == [False] * 5 + [True]
    with closing(open_ledger(address)) as ledger:
        assert len(ledger.ask(Question())) == 1


class TestPrune:
    def test_empty_partition_is_dropped(self, ledger: Ledger, watch: Watch) -> None:
        ledger.append(records_of(an_attempt(time=MARCH), an_attempt(time=MARCH.replace(month=5))))
        ledger.remove("writer-1", 1, [], *records_of(a_tombstone("writer-1", 1), writer="pruner"))
        assert months(watch) == ["2019_04", "2019_05", "2019_06"]

    def test_late_record_creates_a_dropped_partition_again(self, ledger: Ledger) -> None:
        ledger.append(records_of(an_attempt(time=MARCH)))
        ledger.remove("writer-1", 1, [], *records_of(a_tombstone("writer-1", 1), writer="pruner"))
        ledger.append(late := records_of(an_attempt(time=MARCH), writer="late"))
        assert ledger.ask(Question()) == late

    def test_partition_with_records_is_kept(self, ledger: Ledger, watch: Watch) -> None:
        ledger.append(records_of(an_attempt(time=MARCH), an_attempt(time=MARCH)))
        ledger.remove("writer-1", 2, [2], *records_of(a_tombstone("writer-1", 2), writer="pruner"))
        assert months(watch) == ["2019_03", "2019_04"]

    def test_partition_of_the_current_month_is_kept(self, ledger: Ledger, watch: Watch) -> None:
        ledger.append(records_of(an_attempt(time=MARCH)))
        stone = a_tombstone("writer-1", 1, time=MARCH + timedelta(days=3))
        ledger.remove("writer-1", 1, [], *records_of(stone, writer="pruner"))
        assert months(watch) == ["2019_03", "2019_04"]

    def test_partition_in_use_by_a_reader_is_kept(self, address: str, watch: Watch) -> None:
        impatient = f"{address}&options=-c%20lock_timeout%3D50ms"
        with closing(open_ledger(impatient)) as ledger, psycopg.connect(address) as reader:
            ledger.append(records_of(an_attempt(time=MARCH)))
            reader.execute("SELECT FROM glasswarden.record")
            stones = records_of(a_tombstone("writer-1", 1), writer="pruner")
            ledger.remove("writer-1", 1, [], *stones)
            assert months(watch) == ["2019_03", "2019_04"]
            assert ledger.ask(Question()) == []
