"""Retention: what is old goes, what is left still verifies, and what is held stays."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from glasswarden.ledger.chain import open_maintenance
from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.fsck.findings import (
    Contradicted,
    Edited,
    Finding,
    HoldMismatch,
    Removed,
    Unpruned,
)
from glasswarden.ledger.ledger import Ledger, LegalHold
from glasswarden.ledger.record import Attempt, Kept, Record, Tombstone, read_record, seal
from glasswarden.ledger.retention import Pruning, place_hold, prune, release_hold
from tests.ledger.builders import SIGNER, TIME, an_attempt
from tests.ledger.conftest import Opener
from tests.ledger.fsck.builders import TRUST, Intruder, Writer, found_in

DAY = timedelta(days=1)
NOW = TIME + 500 * DAY


def an_old_chain(ledger: Ledger, name: str = "one") -> list[Record]:
    """Store a chain with an attempt a day for ten days, two of them for a ticket."""
    days = [an_attempt(time=TIME + day * DAY, ticket=_ticket(day)) for day in range(10)]
    return Writer(ledger, name).writes(*days, is_closed=False)


def _ticket(day: int) -> str:
    return "INC-1" if day in (2, 3) else ""


def pruned(
    ledger: Ledger, before: datetime, now: datetime = NOW, clerk: str = "clerk"
) -> list[Pruning | Finding]:
    with open_maintenance(ledger, clerk, SIGNER, now) as acting:
        return list(prune(ledger, before, TRUST, acting))


def held(ledger: Ledger, ticket: str = "INC-1", now: datetime = NOW) -> None:
    with open_maintenance(ledger, f"holder-{ticket}", SIGNER, now) as clerk:
        place_hold(ledger, LegalHold(ticket, now, "lead", "lawsuit"), clerk)


def places(ledger: Ledger, chain: str = "one") -> list[int]:
    return [row.columns.sequence for row in ledger.rows(chain)]


def sum_of(records: Sequence[Record]) -> str:
    return hashlib.sha256(b"".join(bytes.fromhex(each.digest) for each in records)).hexdigest()


def test_prune_removes_old_records_and_writes_a_tombstone(ledger: Ledger) -> None:
    one = an_old_chain(ledger)
    [cut] = pruned(ledger, TIME + 5 * DAY)
    assert cut == Pruning("one", 6, one[5].digest, 6, sum_of(one[:6]), ())
    assert places(ledger) == [7, 8, 9, 10, 11]
    kinds = [row.columns.type for row in ledger.rows("clerk")]
    assert kinds == ["opened", "tombstone", "closed"]
    assert found_in(ledger) == []


def test_prune_removes_a_chain_that_is_old_throughout(ledger: Ledger) -> None:
    an_old_chain(ledger)
    pruned(ledger, TIME + 100 * DAY)
    assert places(ledger) == []
    assert found_in(ledger) == []


def test_pruned_chain_can_be_continued(ledger: Ledger) -> None:
    one = an_old_chain(ledger)
    pruned(ledger, TIME + 100 * DAY)
    ledger.append([seal(an_attempt(time=NOW), "one", 12, one[10].digest)])
    assert found_in(ledger) == []


def test_prune_without_old_records_writes_nothing(ledger: Ledger) -> None:
    an_old_chain(ledger)
    assert pruned(ledger, TIME - DAY) == []
    assert ledger.writers() == ["one"]


def test_dry_run_reports_the_cuts_and_removes_nothing(ledger: Ledger) -> None:
    an_old_chain(ledger)
    planned = list(prune(ledger, TIME + 5 * DAY, TRUST, None))
    assert len(places(ledger)) == 11
    assert planned == pruned(ledger, TIME + 5 * DAY)


def test_prune_can_be_repeated_later(ledger: Ledger) -> None:
    an_old_chain(ledger)
    for day in (2, 5, 8, 100):
        pruned(ledger, TIME + day * DAY, NOW + day * DAY, f"clerk-{day}")
        assert found_in(ledger) == []
    assert places(ledger) == []


def test_tombstones_in_force_are_kept_when_their_chain_is_pruned(ledger: Ledger) -> None:
    an_old_chain(ledger)
    pruned(ledger, TIME + 5 * DAY, NOW, "early")
    pruned(ledger, NOW + DAY, NOW + 500 * DAY, "late")
    assert [row.columns.type for row in ledger.rows("early")] == ["tombstone"]
    assert found_in(ledger) == []
    pruned(ledger, NOW + 501 * DAY, NOW + 1000 * DAY, "latest")
    assert places(ledger, "early") == []  # another tombstone took its place
    assert {row.columns.type for row in ledger.rows("late")} == {"tombstone"}
    assert found_in(ledger) == []


class TestLegalHold:
    def test_records_of_a_held_ticket_are_kept(self, ledger: Ledger) -> None:
        one = an_old_chain(ledger)
        held(ledger)
        [cut] = pruned(ledger, TIME + 8 * DAY)
        assert isinstance(cut, Pruning)
        assert cut.kept == (Kept(4, one[3].digest), Kept(5, one[4].digest))
        assert cut.sum == sum_of(one[:3] + one[5:9])
        assert places(ledger) == [4, 5, 10, 11]
        assert found_in(ledger) == []

    def test_records_are_pruned_after_the_hold_is_lifted(self, ledger: Ledger) -> None:
        an_old_chain(ledger)
        held(ledger)
        pruned(ledger, TIME + 8 * DAY, clerk="first")
        with open_maintenance(ledger, "lifter", SIGNER, NOW + DAY) as clerk:
            assert release_hold(ledger, "INC-1", "lead", "settled", clerk)
        pruned(ledger, TIME + 8 * DAY, clerk="second")
        assert places(ledger) == [10, 11]
        assert found_in(ledger) == []

    def test_records_of_holds_are_never_pruned(self, ledger: Ledger) -> None:
        held(ledger)
        pruned(ledger, NOW + DAY, NOW + 500 * DAY)
        [row] = ledger.rows("holder-INC-1")
        assert row.columns.type == "held"
        assert found_in(ledger) == []

    def test_second_hold_on_a_ticket_is_not_placed(self, ledger: Ledger) -> None:
        held(ledger)
        with open_maintenance(ledger, "again", SIGNER, NOW) as clerk:
            assert not place_hold(ledger, LegalHold("INC-1", NOW, "lead", "again"), clerk)
        assert ledger.writers() == ["holder-INC-1"]

    def test_unknown_hold_is_not_lifted(self, ledger: Ledger) -> None:
        with open_maintenance(ledger, "lifter", SIGNER, NOW) as clerk:
            assert not release_hold(ledger, "INC-1", "lead", "settled", clerk)
        assert ledger.writers() == []

    def test_hold_deleted_in_the_database_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        held(ledger)
        assert found_in(ledger) == []
        intruder.run("DELETE FROM legal_hold")
        assert found_in(ledger) == [
            HoldMismatch(ticket="INC-1", why="is recorded, but was lifted without a record")
        ]

    def test_hold_deleted_in_the_database_stays_in_force(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        an_old_chain(ledger)
        held(ledger)
        intruder.run("DELETE FROM legal_hold")
        pruned(ledger, TIME + 8 * DAY)
        assert places(ledger) == [4, 5, 10, 11]

    def test_hold_added_between_two_cuts_applies_to_the_next_cut(self, opener: Opener) -> None:
        ledger = opener()
        an_old_chain(ledger, "one")
        an_old_chain(ledger, "two")
        with open_maintenance(ledger, "clerk", SIGNER, NOW) as acting:
            progress = prune(ledger, TIME + 8 * DAY, TRUST, acting)
            next(progress)
            held(opener())
            list(progress)
        assert (places(ledger, "one"), places(ledger, "two")) == ([10, 11], [4, 5, 10, 11])
        assert found_in(ledger) == []

    def test_hold_added_while_a_cut_is_planned_applies(
        self, opener: Opener, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The cut itself looks again, and a cut that did not know of the hold is planned anew."""
        ledger, beside = opener(), opener()
        an_old_chain(ledger)
        remove = ledger.remove

        def late(*arguments: Any, **named: Any) -> None:  # noqa: ANN401 - whatever it takes
            if not beside.holds():
                held(beside)
            remove(*arguments, **named)

        monkeypatch.setattr(ledger, "remove", late)
        [cut] = pruned(ledger, TIME + 8 * DAY)
        assert isinstance(cut, Pruning)
        assert len(cut.kept) == 2
        assert places(ledger) == [4, 5, 10, 11]
        assert found_in(ledger) == []

    def test_ticket_too_long_for_an_index_is_held(self, ledger: Ledger) -> None:
        ticket = "INC-" + 1000 * "9"
        Writer(ledger).writes(an_attempt(ticket=ticket), an_attempt())
        held(ledger, ticket)
        pruned(ledger, TIME + DAY)
        assert places(ledger) == [2]


class TestTamperingAfterPrune:
    def test_removal_beyond_the_tombstone_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        an_old_chain(ledger)
        pruned(ledger, TIME + 5 * DAY)
        intruder.run("DELETE FROM record WHERE writer = 'one' AND sequence IN (7, 8)")
        assert found_in(ledger) == [Removed(chain="one", sequence=7, through=8)]

    def test_removal_of_a_held_record_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        an_old_chain(ledger)
        held(ledger)
        pruned(ledger, TIME + 8 * DAY)
        intruder.run("DELETE FROM record WHERE writer = 'one' AND sequence = 4")
        assert found_in(ledger) == [Removed(chain="one", sequence=4, through=4)]

    def test_replacement_of_a_held_record_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        one = an_old_chain(ledger)
        held(ledger)
        pruned(ledger, TIME + 8 * DAY)
        entry = one[3].entry
        assert isinstance(entry, Attempt)
        other = seal(replace(entry, reason="nothing to see"), "one", 4, entry.prev)
        intruder.put(other, "one", 4)
        assert found_in(ledger) == [
            Contradicted(chain="one", sequence=4, id=entry.id, by="the tombstone")
        ]

    def test_restored_pruned_record_is_found(self, ledger: Ledger) -> None:
        one = an_old_chain(ledger)
        pruned(ledger, TIME + 5 * DAY)
        ledger.append([one[2]])
        assert found_in(ledger) == [Unpruned(chain="one", sequence=3, id=one[2].entry.id)]

    def test_removal_of_the_tombstone_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        an_old_chain(ledger)
        pruned(ledger, TIME + 5 * DAY)
        intruder.run("DELETE FROM record WHERE type = 'tombstone'")
        assert found_in(ledger) == [
            Removed(chain="clerk", sequence=2, through=2),
            Removed(chain="one", sequence=1, through=6),
        ]

    def test_chain_that_does_not_verify_is_not_pruned(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        one = an_old_chain(ledger)
        intruder.run("UPDATE record SET body = ? WHERE sequence = 3", values=[b"{}"])
        found = pruned(ledger, TIME + 5 * DAY)
        assert found == [Edited(chain="one", sequence=3, id=one[2].entry.id)]
        assert len(places(ledger)) == 11
        assert ledger.writers() == ["one"]


def test_failed_cut_leaves_the_chain_unchanged(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is unavailable before the second chain: the first is cut, and all verifies."""
    an_old_chain(ledger, "one")
    an_old_chain(ledger, "two")
    remove = ledger.remove

    def failing(writer: str, *rest: Any, **named: Any) -> None:  # noqa: ANN401 - what it takes
        if writer == "two":
            raise LedgerUnavailable("gone")
        remove(writer, *rest, **named)

    monkeypatch.setattr(ledger, "remove", failing)
    with pytest.raises(LedgerUnavailable):
        pruned(ledger, TIME + 5 * DAY)
    assert (len(places(ledger, "one")), len(places(ledger, "two"))) == (5, 11)
    assert found_in(ledger) == []


def test_head_named_only_by_a_pruned_opening_is_unwitnessed_again(ledger: Ledger) -> None:
    """The clock of whoever opened was slow: its opening is old enough to go, the end is not."""
    Writer(ledger, "one").writes(an_attempt(time=TIME + 2 * DAY), is_closed=False)
    Writer(ledger, "two", since=TIME).writes(is_closed=False)
    [head] = [head for head in ledger.heads() if head.writer == "one"]
    assert head not in ledger.unwitnessed_heads()
    pruned(ledger, TIME + DAY)
    assert head in ledger.unwitnessed_heads()
    assert found_in(ledger) == []


def test_tombstone_is_signed_and_contains_the_age(ledger: Ledger) -> None:
    an_old_chain(ledger)
    pruned(ledger, TIME + 5 * DAY)
    _, row, _ = ledger.rows("clerk")
    stone = read_record(row.body, row.digest).entry
    assert isinstance(stone, Tombstone)
    assert (stone.before, stone.public_key) == (TIME + 5 * DAY, SIGNER.public_key)
    assert row.signature == SIGNER.sign(row.digest)
