"""The embedded ledger keeps what it took, all or none of a batch."""

import sqlite3
from pathlib import Path

import pytest

from glasswarden.ledger.address import open_ledger
from glasswarden.ledger.chain import Chain
from glasswarden.ledger.errors import AddressInvalid, LedgerUnavailable
from glasswarden.ledger.sqlite import open_sqlite
from tests.ledger.builders import an_entry


def test_what_was_appended_is_there_after_reopening(tmp_path: Path) -> None:
    records = Chain("w").link([an_entry(), an_entry()])
    ledger = open_sqlite(tmp_path / "ledger.db")
    ledger.append(records)
    ledger.close()
    again = open_sqlite(tmp_path / "ledger.db")
    assert list(again.records()) == records
    again.close()


def test_a_batch_with_one_bad_record_stores_none(tmp_path: Path) -> None:
    ledger = open_sqlite(tmp_path / "ledger.db")
    [first] = Chain("w").link([an_entry()])
    ledger.append([first])
    [second] = Chain("other").link([an_entry()])
    with pytest.raises(LedgerUnavailable):
        ledger.append([second, first])
    assert list(ledger.records()) == [first]
    ledger.close()


def test_two_writers_share_one_file(tmp_path: Path) -> None:
    one, other = open_sqlite(tmp_path / "ledger.db"), open_sqlite(tmp_path / "ledger.db")
    one.append(Chain("one").link([an_entry()]))
    other.append(Chain("other").link([an_entry()]))
    assert [record.writer for record in one.records()] == ["one", "other"]
    one.close()
    other.close()


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


@pytest.mark.parametrize(
    "address", ["", "ledger.db", "sqlite://", "sqlite:///", "mysql://x/y", "sqlite://host/x"]
)
def test_an_address_that_names_nothing_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(AddressInvalid, match="sqlite:///"):
        open_ledger(address)


def test_an_address_names_the_file(tmp_path: Path) -> None:
    open_ledger(f"sqlite://{tmp_path}/with%20space.db").close()
    with sqlite3.connect(tmp_path / "with space.db") as connection:
        assert connection.execute("SELECT count(*) FROM record").fetchone() == (0,)
    connection.close()
