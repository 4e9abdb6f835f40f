"""Every way to change what was recorded is tried on a real database, and found."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from glasswarden.ledger.chain import Chain, new_opening
from glasswarden.ledger.fsck.findings import (
    ColumnMismatch,
    Contradicted,
    CutTail,
    DuplicatePlace,
    Edited,
    Finding,
    Forged,
    HeadMismatch,
    MissingChain,
    Removed,
    Reordered,
    Replaced,
    Unreadable,
)
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import (
    FORMAT,
    GENESIS,
    Attempt,
    Foreign,
    Record,
    new_id,
    read_record,
    seal,
)
from tests.ledger.builders import SIGNER, TIME, an_attempt
from tests.ledger.fsck.builders import (
    STRANGER,
    TRUST,
    TWIN_ID,
    Intruder,
    Writer,
    found_in,
    some_attempts,
    some_random_bytes,
    two_chains,
)


def test_untouched_ledger_has_no_findings(ledger: Ledger) -> None:
    two_chains(ledger)
    assert found_in(ledger) == []


def edited(record: Record, **fields: object) -> Record:
    """Return *record* with other *fields*, and with the digest that belongs to them."""
    entry = msgspec.structs.replace(record.entry, **fields)
    return seal(entry, entry.writer, entry.sequence, entry.prev)


def unnamed(chain: str, place: int) -> Finding:
    """Return the finding for an opening that named *chain* and was deleted or never existed."""
    why = f"says that an opening named this chain at {place}, but no trusted one did"
    return HeadMismatch(chain=chain, sequence=place, why=why)


class TestEdited:
    def test_edited_field_in_the_bytes_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        one, _ = two_chains(ledger)
        other = edited(one[2], actor="outsider", reason="nothing to see")
        intruder.put(replace(other, digest=one[2].digest), "one", 3)
        assert found_in(ledger) == [
            Edited(chain="one", sequence=3, id=one[2].entry.id, columns=("actor",))
        ]

    def test_edited_bytes_with_matching_columns_are_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.put(replace(edited(one[2], actor="outsider"), digest=one[2].digest), "one", 3)
        intruder.run("UPDATE record SET actor = 'outsider' WHERE writer = 'one' AND sequence = 3")
        assert found_in(ledger) == [Edited(chain="one", sequence=3, id=one[2].entry.id)]

    def test_edited_bytes_with_a_matching_digest_are_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.put(edited(one[2], reason="nothing to see"), "one", 3)
        assert found_in(ledger) == [Replaced(chain="one", sequence=3, id=one[2].entry.id)]

    def test_edited_bytes_with_all_later_digests_rewritten_are_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        """Another chain saw the true end, and the closing is signed."""
        one, _ = two_chains(ledger)
        for place, other in enumerate(_anew(one[2:], one[1].digest), start=3):
            intruder.put(other, "one", place)
        intruder.run(
            "UPDATE record SET actor = 'outsider' WHERE writer = 'one' AND sequence IN (3, 4, 5)"
        )
        found = found_in(ledger)
        assert [(type(each), each.sequence) for each in found] == [(Forged, 6)]

    def test_edited_digest_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        one, _ = two_chains(ledger)
        intruder.run(
            "UPDATE record SET digest = ? WHERE writer = 'one' AND sequence = 3",
            values=[bytes(32)],
        )
        assert found_in(ledger) == [Edited(chain="one", sequence=3, id=one[2].entry.id)]

    def test_bytes_that_are_no_record_are_found(self, ledger: Ledger, intruder: Intruder) -> None:
        one, _ = two_chains(ledger)
        intruder.put(replace(one[2], body=b"{}"), "one", 3)
        assert found_in(ledger) == [Edited(chain="one", sequence=3, id=one[2].entry.id)]

    def test_bytes_that_are_no_record_with_a_matching_digest_are_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        one, _ = two_chains(ledger)
        digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        intruder.put(replace(one[2], body=b"{}", digest=digest), "one", 3)
        assert found_in(ledger) == [Unreadable(chain="one", sequence=3, id=one[2].entry.id)]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "'outsider'"),
        ("verdict", "'allow'"),
        ("group", "'batch'"),
        ("kind", "'Secret'"),
        ("namespace", "'elsewhere'"),
        ("name", "'other'"),
        ("engine", "'argocd'"),
        ("app", "'other'"),
        ("app_namespace", "'elsewhere'"),
        ("grant", "'g1'"),
        ("grant_act", "'issued'"),
        ("ticket", "'INC-1'"),
        ("type", "'gap'"),
        ("time", "later"),
        ("grant_expires", "time"),
        ("cluster", "'other'"),
        ("signature", "'c2lnbmVk'"),
    ],
)
def test_edited_query_column_is_found(
    ledger: Ledger, intruder: Intruder, column: str, value: str
) -> None:
    one, _ = two_chains(ledger)
    value = intruder.only_in.get(value, value)
    intruder.run(f"UPDATE record SET \"{column}\" = {value} WHERE writer = 'one' AND sequence = 3")  # noqa: S608
    assert found_in(ledger) == [
        ColumnMismatch(chain="one", sequence=3, id=one[2].entry.id, columns=(column,))
    ]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        pytest.param("id", str.upper, id="an id in other letters"),
        pytest.param("id", lambda said: said.replace("-", ""), id="an id without its dashes"),
        pytest.param("id", lambda _: "none", id="an id that is none"),
        pytest.param("time", lambda said: said.replace(tzinfo=None), id="a time of no zone"),
    ],
)
def test_record_with_a_value_that_no_column_can_hold_is_found(
    ledger: Ledger, intruder: Intruder, column: str, value: Callable[[Any], object]
) -> None:
    one, _ = two_chains(ledger)
    other = edited(one[2], **{column: value(getattr(one[2].entry, column))})
    intruder.put(other, "one", 3)
    assert found_in(ledger)[0] == ColumnMismatch(
        chain="one", sequence=3, id=other.entry.id, columns=(column,)
    )


@pytest.mark.parametrize("how", ["without paths", "other paths", "paths of no use"])
def test_edited_paths_of_a_record_are_found(ledger: Ledger, intruder: Intruder, how: str) -> None:
    one = Writer(ledger).writes(*some_attempts(3))
    intruder.run(intruder.only_in[how])
    assert found_in(ledger) == [
        ColumnMismatch(chain="one", sequence=3, id=one[2].entry.id, columns=("fields",))
    ]


class TestRemoved:
    def test_removed_record_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        two_chains(ledger)
        intruder.run("DELETE FROM record WHERE writer = 'one' AND sequence = 3")
        assert found_in(ledger) == [Removed(chain="one", sequence=3, through=3)]

    def test_several_removed_records_are_found(self, ledger: Ledger, intruder: Intruder) -> None:
        two_chains(ledger)
        intruder.run("DELETE FROM record WHERE writer = 'one' AND sequence IN (2, 3, 4)")
        assert found_in(ledger) == [Removed(chain="one", sequence=2, through=4)]

    def test_removed_beginning_of_a_chain_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        two_chains(ledger)
        intruder.run("DELETE FROM record WHERE writer = 'two' AND sequence = 1")
        assert found_in(ledger) == [Removed(chain="two", sequence=1, through=1), unnamed("one", 6)]

    def test_removed_tail_of_a_chain_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        two_chains(ledger)
        intruder.run("DELETE FROM record WHERE writer = 'two' AND sequence IN (3, 4, 5)")
        assert found_in(ledger) == [
            CutTail(chain="two", sequence=3, through=4, by="the ledger's list of chains")
        ]

    def test_removed_tail_with_a_matching_list_of_chains_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.run(
            "DELETE FROM record WHERE writer = 'one' AND sequence > 4",
            "UPDATE chain SET sequence = 4 WHERE writer = 'one'",
        )
        intruder.run(
            "UPDATE chain SET digest = ? WHERE writer = 'one'",
            values=[bytes.fromhex(one[3].digest)],
        )
        assert found_in(ledger) == [
            CutTail(chain="one", sequence=5, through=6, by="the opening of two")
        ]

    def test_removed_chain_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        two_chains(ledger)
        intruder.run("DELETE FROM record WHERE writer = 'two'")
        assert found_in(ledger) == [
            MissingChain(chain="two", sequence=4, by="the ledger's list of chains"),
            unnamed("one", 6),
        ]

    def test_removed_chain_without_an_entry_in_the_list_of_chains_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        two_chains(ledger)
        intruder.drop_chain("one")
        assert found_in(ledger) == [MissingChain(chain="one", sequence=6, by="the opening of two")]


class TestReordered:
    def test_swapped_records_are_found(self, ledger: Ledger, intruder: Intruder) -> None:
        one, _ = two_chains(ledger)
        intruder.run(
            "UPDATE record SET sequence = 99 WHERE writer = 'one' AND sequence = 3",
            "UPDATE record SET sequence = 3 WHERE writer = 'one' AND sequence = 4",
            "UPDATE record SET sequence = 4 WHERE writer = 'one' AND sequence = 99",
        )
        assert found_in(ledger) == [
            Reordered(chain="one", sequence=3, id=one[3].entry.id, belongs="one#4"),
            Reordered(chain="one", sequence=4, id=one[2].entry.id, belongs="one#3"),
        ]

    def test_record_moved_to_another_chain_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.run(
            "UPDATE record SET writer = 'two', sequence = 5 WHERE writer = 'one' AND sequence = 3"
        )
        assert found_in(ledger) == [
            Removed(chain="one", sequence=3, through=3),
            Reordered(chain="two", sequence=5, id=one[2].entry.id, belongs="one#3"),
            HeadMismatch(chain="two", sequence=5, why="ends this chain at 4, but it goes on to 5"),
        ]


def test_duplicate_sequence_number_is_found(ledger: Ledger, intruder: Intruder) -> None:
    one, _ = two_chains(ledger)
    twin = edited(one[2], id=TWIN_ID)
    intruder.duplicate("one", 3, twin)
    [found] = found_in(ledger)
    assert isinstance(found, DuplicatePlace)
    assert (found.chain, found.sequence) == ("one", 3)
    assert found.id in {one[2].entry.id, twin.entry.id}


class TestForged:
    def test_chain_without_an_opening_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        two_chains(ledger)
        [record] = Chain("three", STRANGER).link([an_attempt()])
        intruder.insert(record)
        assert found_in(ledger) == [
            Forged(
                chain="three",
                sequence=1,
                id=record.entry.id,
                why="its chain does not begin with a signed opening",
            )
        ]

    @pytest.mark.parametrize("format_", [FORMAT, 99])
    def test_chain_that_begins_with_an_unknown_record_type_is_found(
        self, ledger: Ledger, intruder: Intruder, format_: int
    ) -> None:
        two_chains(ledger)
        strange = Foreign(
            format=format_,
            id=new_id(TIME, some_random_bytes()),
            time=TIME,
            cluster="test",
            type="appeal",
        )
        first, *rest = Chain("three", STRANGER).link([strange, an_attempt()])
        intruder.insert(first, *rest)
        why = "its chain does not begin with a signed opening"
        assert found_in(ledger) == [Forged(chain="three", sequence=1, id=first.entry.id, why=why)]

    @pytest.mark.parametrize("chain", ["one", "ghost"])
    @pytest.mark.parametrize("place", [0, -1, -(2**63)])
    def test_record_before_the_opening_is_found(
        self, ledger: Ledger, intruder: Intruder, chain: str, place: int
    ) -> None:
        """Questions find it, so fsck must too: also where it goes on from the last run."""
        two_chains(ledger)
        before = Fsck(ledger, TRUST)
        assert list(before.find_faults()) == []
        record = seal(an_attempt(actor="innocent"), chain, place, GENESIS)
        intruder.place(record)
        assert ledger.ask(Question(actor="innocent")) == [record]
        why = "it precedes the beginning of its chain"
        forged = Forged(chain=chain, sequence=place, id=record.entry.id, why=why)
        assert found_in(ledger) == [forged]
        assert [*Fsck(ledger, TRUST, before.tally.places).find_faults()] == [forged]
        assert [*Fsck(ledger, TRUST, since=TIME + timedelta(days=1)).find_faults()] == [forged]

    def test_chain_signed_by_an_untrusted_key_is_found(self, ledger: Ledger) -> None:
        """Nor does it count that such a chain named another: nobody else would name it again."""
        two_chains(ledger)
        first, *_ = Writer(ledger, "three", STRANGER).writes(an_attempt(), is_closed=False)
        why = f"its key {STRANGER.public_key} is not a trusted one"
        assert found_in(ledger) == [
            Forged(chain="three", sequence=1, id=first.entry.id, why=why),
            unnamed("two", 4),
        ]

    def test_chain_signed_by_any_key_passes_without_a_trusted_key(self, ledger: Ledger) -> None:
        Writer(ledger, "three", STRANGER).writes(an_attempt())
        assert found_in(ledger, Trust()) == []

    def test_opening_that_names_the_trusted_key_without_its_signature_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        opened = new_opening("test", [], SIGNER, TIME, some_random_bytes())
        [record] = Chain("three", STRANGER).link([opened])
        intruder.insert(record)
        why = "its signature is not that of its key"
        assert found_in(ledger) == [Forged(chain="three", sequence=1, id=record.entry.id, why=why)]

    def test_removed_signature_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        one, _ = two_chains(ledger)
        intruder.run("UPDATE record SET signature = '' WHERE writer = 'one' AND sequence = 6")
        why = "its signature is missing"
        assert found_in(ledger) == [Forged(chain="one", sequence=6, id=one[5].entry.id, why=why)]

    def test_record_after_the_closing_is_found(self, ledger: Ledger, intruder: Intruder) -> None:
        one, _ = two_chains(ledger)
        extra = seal(an_attempt(), "one", 7, one[5].digest)
        intruder.insert(extra)
        why = "it follows the end of its chain"
        assert found_in(ledger) == [Forged(chain="one", sequence=7, id=extra.entry.id, why=why)]


def _anew(records: list[Record], prev: str) -> list[Record]:
    anew = []
    for record in records:
        fields = {"actor": "outsider"} if isinstance(record.entry, Attempt) else {}
        other = replace(edited(record, prev=prev, **fields), signature=record.signature)
        anew.append(other)
        prev = other.digest
    return anew


def test_rewritten_tail_is_contradicted_by_a_later_opening(
    ledger: Ledger, intruder: Intruder
) -> None:
    """A chain that was killed has no signature at its end; the next chain's opening names it."""
    one = Writer(ledger, "one").writes(*some_attempts(2), is_closed=False)
    Writer(ledger, "two", since=TIME + timedelta(hours=1)).writes(an_attempt())
    intruder.drop_chain("one")
    anew = _anew(one[1:], one[0].digest)
    intruder.insert(one[0], *anew)
    assert found_in(ledger) == [
        Contradicted(chain="one", sequence=3, id=one[2].entry.id, by="the opening of two")
    ]


class TestListOfChains:
    def test_changed_digest_in_the_list_of_chains_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        _, two = two_chains(ledger)
        intruder.run("UPDATE chain SET digest = ? WHERE writer = 'two'", values=[bytes(32)])
        why = "names another digest at this place than the record has"
        assert found_in(ledger) == [
            HeadMismatch(chain="two", sequence=4, id=two[3].entry.id, why=why)
        ]

    def test_earlier_end_in_the_list_of_chains_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        _, two = two_chains(ledger)
        intruder.run(
            "UPDATE chain SET sequence = 2, digest = ? WHERE writer = 'two'",
            values=[bytes.fromhex(two[1].digest)],
        )
        why = "ends this chain at 2, but it goes on to 4"
        assert found_in(ledger) == [HeadMismatch(chain="two", sequence=4, why=why)]

    def test_chain_missing_from_the_list_of_chains_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        two_chains(ledger)
        intruder.run("DELETE FROM chain WHERE writer = 'two'")
        assert found_in(ledger) == [
            HeadMismatch(chain="two", sequence=4, why="does not have this chain")
        ]

    def test_chain_marked_as_witnessed_too_far_is_found(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        """Then it could be removed, and nobody would miss it."""
        Writer(ledger, "one").writes(*some_attempts(3), is_closed=False)
        intruder.run("UPDATE chain SET witnessed = 1000")
        assert found_in(ledger) == [unnamed("one", 1000)]
        Writer(ledger, "two", since=TIME + timedelta(hours=1)).writes(an_attempt())
        assert found_in(ledger) == [unnamed("one", 1000)]


def test_duplicate_sequence_number_across_a_page_boundary_is_found(
    ledger: Ledger, intruder: Intruder
) -> None:
    """A walk reads 500 rows at a time, and begins the next page behind the last."""
    one = Writer(ledger).writes(*some_attempts(600), is_closed=False)
    intruder.duplicate("one", 500, edited(one[499], id=TWIN_ID))
    [found] = found_in(ledger)
    assert (type(found), found.sequence) == (DuplicatePlace, 500)


def test_every_finding_is_one_sentence_with_chain_and_sequence() -> None:
    found: Finding = Removed(chain="one", sequence=2, through=4)
    assert str(found) == "removed: one#2: the records from 2 to 4 were removed"


def test_record_of_a_later_version_is_no_finding(ledger: Ledger) -> None:
    chain = Chain("one", SIGNER)
    opened = chain.link([new_opening("test", [], SIGNER, TIME, some_random_bytes())])
    chain.advance(opened)
    [later] = chain.link([an_attempt(format=99)])
    foreign = later.body.replace(b'"attempt"', b'"appeal"')
    appeal = seal(read_record(foreign, GENESIS).entry, "one", 2, opened[0].digest)
    ledger.append([*opened, appeal])
    assert found_in(ledger) == []
