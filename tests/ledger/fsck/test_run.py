"""A run in parts: what is young, what is new since the last run, and what state it leaves."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from glasswarden.ledger.fsck.chain import ChainPlace
from glasswarden.ledger.fsck.findings import (
    Contradicted,
    CutTail,
    Edited,
    Finding,
    Forged,
    HoldMismatch,
    Removed,
)
from glasswarden.ledger.fsck.run import Fsck, State, StateUnusable, Tally, read_state, write_state
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger, LegalHold
from tests.ledger.builders import SIGNER, TIME, an_attempt
from tests.ledger.fsck.builders import TRUST, Intruder, Writer, some_attempts, two_chains

DAY = timedelta(days=1)
WORSE = "UPDATE record SET body = ? WHERE writer = 'one' AND sequence = ?"


def run(
    ledger: Ledger, places: Mapping[str, ChainPlace] | None = None, since: datetime | None = None
) -> tuple[list[Finding], Tally]:
    """Return what a run finds, and what it has seen."""
    fsck = Fsck(ledger, TRUST, places, since)
    return list(fsck.find_faults()), fsck.tally


def test_fsck_reports_what_it_has_read(ledger: Ledger) -> None:
    one, two = two_chains(ledger)
    _, tally = run(ledger)
    assert (tally.records, tally.chains, tally.done, tally.closed) == (10, 2, 2, 1)
    assert tally.keys == {SIGNER.public_key}
    assert tally.places == {
        "one": ChainPlace(6, one[5].digest),
        "two": ChainPlace(4, two[3].digest),
    }


class TestResume:
    def test_resumed_run_reads_only_new_records(self, ledger: Ledger) -> None:
        two_chains(ledger)
        _, before = run(ledger)
        Writer(ledger, "three", since=TIME + 2 * timedelta(hours=1)).writes(*some_attempts(2))
        found, tally = run(ledger, before.places)
        assert found == []
        assert tally.records == 4 + 2  # the new chain, and the ends of the others

    def test_resumed_run_does_not_verify_old_records_again(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        two_chains(ledger)
        _, before = run(ledger)
        intruder.run(WORSE, values=[b"{}", 3])
        assert run(ledger, before.places)[0] == []

    def test_resumed_run_finds_a_rewritten_chain(self, ledger: Ledger, intruder: Intruder) -> None:
        """A chain that was written anew since, with the list of chains to match."""
        old = Writer(ledger, "one").writes(*some_attempts(2), is_closed=False)
        _, before = run(ledger)
        intruder.drop_chain("one")
        attempts = [an_attempt(id=each.entry.id, actor="outsider") for each in old[1:]]
        new = Writer(ledger, "one").writes(*attempts, is_closed=False)
        assert run(ledger, before.places)[0] == [
            Contradicted(chain="one", sequence=3, id=new[2].entry.id, by="the last run of fsck")
        ]

    def test_resumed_run_finds_a_removed_tail(self, ledger: Ledger, intruder: Intruder) -> None:
        one = Writer(ledger, "one").writes(*some_attempts(4), is_closed=False)
        _, before = run(ledger)
        intruder.run("DELETE FROM record WHERE sequence > 3")
        intruder.run(
            "UPDATE chain SET sequence = 3, digest = ?", values=[bytes.fromhex(one[2].digest)]
        )
        assert run(ledger, before.places)[0] == [
            CutTail(chain="one", sequence=5, through=5, by="the last run of fsck")
        ]

    def test_resumed_run_repeats_earlier_findings(self, ledger: Ledger, intruder: Intruder) -> None:
        one, _ = two_chains(ledger)
        intruder.run(WORSE, values=[b"{}", 3])
        first, tally = run(ledger)
        assert tally.places["one"] == ChainPlace(2, one[1].digest)
        again, _ = run(ledger, tally.places)
        assert first == again == [Edited(chain="one", sequence=3, id=one[2].entry.id)]

    def test_resumed_run_looks_up_an_earlier_record_named_by_a_new_chain(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        Writer(ledger, "one").writes(*some_attempts(2), is_closed=False)
        _, before = run(ledger)
        Writer(ledger, "two", since=TIME + DAY).writes()
        intruder.run("DELETE FROM record WHERE writer = 'one' AND sequence = 3")
        places = before.places | {"one": ChainPlace(4, "")}
        assert Removed(chain="one", sequence=3, through=3) in run(ledger, places)[0]


class TestSince:
    def test_since_verifies_only_younger_records(self, ledger: Ledger, intruder: Intruder) -> None:
        young = [an_attempt(time=TIME + DAY + timedelta(seconds=n)) for n in range(3)]
        one = Writer(ledger, "one").writes(*some_attempts(3), *young, is_closed=False)
        intruder.run(WORSE, values=[b"{}", 2])
        intruder.run(WORSE, values=[b"{}", 6])
        found, tally = run(ledger, since=TIME + DAY)
        assert found == [Edited(chain="one", sequence=6, id=one[5].entry.id)]
        assert tally.records == 1 + len(young)

    def test_since_requires_the_ends_of_old_chains(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        two_chains(ledger)
        intruder.run("DELETE FROM record WHERE writer = 'one' AND sequence = 6")
        [found] = run(ledger, since=TIME + DAY)[0]
        assert isinstance(found, CutTail)
        assert (found.chain, found.sequence, found.through) == ("one", 6, 6)

    def test_chain_opened_after_since_is_read_completely(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        Writer(ledger, "one", since=TIME + DAY).writes(an_attempt(time=TIME + DAY))
        intruder.run("UPDATE record SET signature = '' WHERE sequence = 1")
        [found] = run(ledger, since=TIME + DAY)[0]
        assert isinstance(found, Forged)


class TestKeys:
    def test_keys_found_are_listed_without_a_trusted_key(self, ledger: Ledger) -> None:
        two_chains(ledger)
        fsck = Fsck(ledger, Trust())
        assert list(fsck.find_faults()) == []
        assert fsck.tally.keys == {SIGNER.public_key}


class TestHolds:
    HOLD = LegalHold("INC-1", TIME, "lead", "lawsuit")

    def test_hold_without_a_record_is_found(self, ledger: Ledger) -> None:
        two_chains(ledger)
        ledger.hold(self.HOLD)
        assert run(ledger)[0] == [
            HoldMismatch(ticket="INC-1", why="is in force, but no signed record says so")
        ]


class TestState:
    def test_saved_state_is_loaded_unchanged(self, tmp_path: Path) -> None:
        state = State({"one": ChainPlace(3, "d" * 64)}, frozenset({"key"}))
        write_state(tmp_path / "state", state)
        assert read_state(tmp_path / "state") == state

    def test_state_is_absent_before_the_first_run(self, tmp_path: Path) -> None:
        assert read_state(tmp_path / "state") == State()

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"places": {"one": 3}}'])
    def test_invalid_state_file_is_reported(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "state").write_text(content)
        with pytest.raises(StateUnusable, match="state"):
            read_state(tmp_path / "state")

    def test_unwritable_state_file_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(StateUnusable):
            write_state(tmp_path / "none" / "state", State())
