"""Cells that hold what no program writes: fsck names the record, and reads the others."""

import pytest

from glasswarden.ledger.fsck.findings import (
    ColumnMismatch,
    HeadMismatch,
    HoldMismatch,
    MissingChain,
    Reordered,
)
from glasswarden.ledger.ledger import Ledger
from tests.ledger.builders import an_attempt
from tests.ledger.fsck.builders import TWIN_ID, Intruder, Writer, found_in, two_chains

PLACE = "WHERE writer = 'one' AND sequence = 3"
ODD = "\udcff"
"""How a byte reads that is no UTF-8."""


class TestSqlite:
    @pytest.fixture
    def address(self, sqlite_address: str) -> str:
        return sqlite_address

    @pytest.mark.parametrize("column", ["actor", "cluster", "ticket", "type", "signature"])
    def test_invalid_utf8_in_a_column_is_a_column_mismatch(
        self, ledger: Ledger, intruder: Intruder, column: str
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.run(f"UPDATE record SET {column} = CAST(x'ff' AS TEXT) {PLACE}")  # noqa: S608
        assert found_in(ledger) == [
            ColumnMismatch(chain="one", sequence=3, id=one[2].entry.id, columns=(column,))
        ]

    @pytest.mark.parametrize("suffix", ["char(0)", "char(0) || 'more'", "' '", "char(31)"])
    @pytest.mark.parametrize("column", ["actor", "app", "ticket", "grant_act"])
    def test_text_with_a_suffix_is_a_column_mismatch(
        self, ledger: Ledger, intruder: Intruder, column: str, suffix: str
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.run(f"UPDATE record SET {column} = {column} || {suffix} {PLACE}")  # noqa: S608
        assert found_in(ledger) == [
            ColumnMismatch(chain="one", sequence=3, id=one[2].entry.id, columns=(column,))
        ]

    @pytest.mark.parametrize("name", ["x" * 900, "a\0b"], ids=["too long", "with a zero"])
    def test_unshortened_text_in_an_indexed_column_is_a_column_mismatch(
        self, ledger: Ledger, intruder: Intruder, name: str
    ) -> None:
        """The record says exactly this, but it is asked for in another form."""
        one = Writer(ledger).writes(an_attempt(), an_attempt(name=name))
        assert found_in(ledger) == []
        intruder.run(f"UPDATE record SET name = ? {PLACE}", values=[name])  # noqa: S608
        assert found_in(ledger) == [
            ColumnMismatch(chain="one", sequence=3, id=one[2].entry.id, columns=("name",))
        ]

    @pytest.mark.parametrize("other", [f"x'{TWIN_ID.replace('-', '')}'", "substr(id, 1, 15)"])
    def test_changed_id_is_a_column_mismatch(
        self, ledger: Ledger, intruder: Intruder, other: str
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.run(f"UPDATE record SET id = {other} {PLACE}")  # noqa: S608
        assert found_in(ledger) == [
            ColumnMismatch(chain="one", sequence=3, id=one[2].entry.id, columns=("id",))
        ]

    @pytest.mark.parametrize(
        "spelled",
        [
            TWIN_ID.upper(),
            TWIN_ID.replace("-", ""),
            f"{TWIN_ID}-",
            f"{TWIN_ID[:28]}-{TWIN_ID[28:]}",
            f"-{TWIN_ID}",
        ],
    )
    def test_id_in_another_spelling_is_a_column_mismatch(
        self, ledger: Ledger, spelled: str
    ) -> None:
        """All are the same sixteen bytes, but nobody would find the record by what it says."""
        odd = Writer(ledger).writes(an_attempt(id=spelled))[1]
        assert found_in(ledger) == [
            ColumnMismatch(chain="one", sequence=2, id=odd.entry.id, columns=("id",))
        ]

    @pytest.mark.parametrize("column", ["time", "grant_expires"])
    @pytest.mark.parametrize("number", [0, -(2**63), 2**63 - 1])
    def test_time_out_of_range_is_a_column_mismatch(
        self, ledger: Ledger, intruder: Intruder, column: str, number: int
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.run(f"UPDATE record SET {column} = {number} {PLACE}")  # noqa: S608
        assert found_in(ledger) == [
            ColumnMismatch(chain="one", sequence=3, id=one[2].entry.id, columns=(column,))
        ]

    def test_invalid_utf8_as_writer_is_found_as_reordered(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.run(f"UPDATE record SET writer = CAST(x'ff' AS TEXT) {PLACE}")  # noqa: S608
        [_, moved, *_] = found_in(ledger)
        assert moved == Reordered(chain=ODD, sequence=3, id=one[2].entry.id, belongs="one#3")

    def test_invalid_utf8_as_chain_name_is_found_as_a_missing_chain(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        two_chains(ledger)
        intruder.run("UPDATE chain SET writer = CAST(x'ff' AS TEXT) WHERE writer = 'one'")
        why = "does not have this chain"
        assert found_in(ledger)[:2] == [
            MissingChain(chain=ODD, sequence=6, by="the ledger's list of chains"),
            HeadMismatch(chain="one", sequence=6, why=why),
        ]

    def test_chain_with_an_invalid_name_does_not_prevent_a_new_chain(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        two_chains(ledger)
        intruder.run("UPDATE chain SET writer = CAST(x'ff' AS TEXT) WHERE writer = 'two'")
        assert ledger.unwitnessed_heads() == []
        Writer(ledger, "three").writes()

    def test_invalid_utf8_as_held_ticket_is_a_hold_mismatch(
        self, ledger: Ledger, intruder: Intruder
    ) -> None:
        two_chains(ledger)
        intruder.run("INSERT INTO legal_hold VALUES (CAST(x'ff' AS TEXT), 0, '', '')")
        why = "is in force, but no signed record says so"
        assert found_in(ledger) == [HoldMismatch(ticket=ODD, why=why)]


@pytest.mark.postgres
class TestPostgres:
    @pytest.fixture
    def address(self, postgresql_address: str) -> str:
        return postgresql_address

    @pytest.mark.parametrize("moment", ["infinity", "-infinity", "4000-01-01 BC", "20000-01-01"])
    @pytest.mark.parametrize("column", ["time", "grant_expires"])
    def test_time_out_of_range_is_a_column_mismatch(
        self, ledger: Ledger, intruder: Intruder, column: str, moment: str
    ) -> None:
        one, _ = two_chains(ledger)
        intruder.run(f"UPDATE record SET {column} = '{moment}' {PLACE}")  # noqa: S608
        assert found_in(ledger) == [
            ColumnMismatch(chain="one", sequence=3, id=one[2].entry.id, columns=(column,))
        ]

    @pytest.mark.parametrize(
        "cell",
        [
            "fields = '{NULL,a}'",
            "fields = '{{a,b},{c,d}}'",
            "field_keys = '{NULL,1}'",
            "field_keys = '{{1,2},{3,4}}'",
        ],
    )
    @pytest.mark.parametrize("place", [1, 3])
    def test_malformed_array_of_paths_is_a_column_mismatch(
        self, ledger: Ledger, intruder: Intruder, cell: str, place: int
    ) -> None:
        """Of a record with paths, and of one that has none."""
        one, _ = two_chains(ledger)
        where = f"WHERE writer = 'one' AND sequence = {place}"
        intruder.run(f"UPDATE record SET {cell} {where}")  # noqa: S608
        found = ColumnMismatch(
            chain="one", sequence=place, id=one[place - 1].entry.id, columns=("fields",)
        )
        assert found_in(ledger) == [found]
