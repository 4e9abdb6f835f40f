"""A follower sees every record once."""

from datetime import timedelta

from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.writes import Follower
from tests.ledger.builders import TIME, an_attempt, records_of


def test_follower_skips_records_stored_before_it_began(ledger: Ledger) -> None:
    ledger.append(records_of(an_attempt()))
    assert Follower(ledger).poll() == []


def test_follower_returns_new_records_once(ledger: Ledger) -> None:
    records = records_of(*(an_attempt() for _ in range(4)))
    ledger.append(records[:1])
    follower = Follower(ledger)
    ledger.append(records[1:3])
    assert follower.poll() == records[1:3]
    assert follower.poll() == []
    ledger.append(records[3:])
    assert follower.poll() == records[3:]


def test_follower_returns_an_older_record_that_is_stored_later(ledger: Ledger) -> None:
    follower = Follower(ledger)
    ledger.append(records_of(an_attempt(), writer="quick"))
    follower.poll()
    ledger.append(slow := records_of(an_attempt(time=TIME - timedelta(hours=1)), writer="slow"))
    assert follower.poll() == slow


def test_follower_returns_records_of_several_writers_oldest_first(ledger: Ledger) -> None:
    follower = Follower(ledger)
    first, second, third = (an_attempt(reason=reason) for reason in "123")
    ledger.append(records_of(first, third, writer="a"))
    ledger.append(records_of(second, writer="b"))
    assert [record.entry.id for record in follower.poll()] == [first.id, second.id, third.id]
