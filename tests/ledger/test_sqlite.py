"""What is peculiar to the embedded ledger; `test_contract` has what all ledgers do."""

import sqlite3
from pathlib import Path

import pytest

from glasswarden.ledger.address import keys_beside, open_ledger
from glasswarden.ledger.errors import AddressInvalid, LedgerUnavailable, MigrationNeeded
from glasswarden.ledger.sqlite import open_sqlite


def test_every_commit_is_synced(tmp_path: Path) -> None:
    ledger = open_sqlite(tmp_path / "ledger.db")
    ask = ledger._connection.execute
    full = 2
    assert ask("PRAGMA journal_mode").fetchone() == ("wal",)
    assert ask("PRAGMA synchronous").fetchone() == (full,)
    ledger.close()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerUnavailable, match="cannot be opened"):
        open_sqlite(tmp_path / "file" / "ledger.db")


def test_a_file_that_is_no_database_is_said_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("something else " * 100)
    with pytest.raises(LedgerUnavailable, match="not a database"):
        open_sqlite(path)
    assert path.read_text() == "something else " * 100


def test_tables_of_another_version_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(MigrationNeeded, match="version 99"):
        open_sqlite(path)


@pytest.mark.parametrize(
    "address", ["", "ledger.db", "sqlite://", "sqlite:///", "mysql://x/y", "sqlite://host/x"]
)
def test_an_address_that_names_nothing_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(AddressInvalid, match="sqlite:///"):
        open_ledger(address)


def test_an_address_names_the_file_and_its_keys(tmp_path: Path) -> None:
    address = f"sqlite://{tmp_path}/with%20space.db"
    open_ledger(address).close()
    assert (tmp_path / "with space.db").exists()
    assert keys_beside(address) == tmp_path / "with space.db.keys"
