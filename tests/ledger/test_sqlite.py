"""What is peculiar to the embedded ledger; `test_contract` has what all ledgers do."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from glasswarden.ledger.errors import (
    AddressInvalid,
    LaterTables,
    LedgerDamaged,
    LedgerMissing,
    LedgerUnavailable,
    MigrationNeeded,
    RecordMalformed,
)
from glasswarden.ledger.open import keys_beside, open_ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.sqlite.driver import SqliteLedger
from glasswarden.ledger.sqlite.file import VERSION, migrate_sqlite, open_sqlite
from glasswarden.ledger.sqlite.storage import statement_of
from tests.ledger.builders import TIME, an_attempt, records_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    with closing(open_sqlite(path)) as opened:
        yield opened


@pytest.fixture
def tool(ledger: SqliteLedger) -> Iterator[sqlite3.Connection]:
    """Return somebody else's connection to the ledger's file."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        yield connection


@pytest.mark.parametrize(("in_bulk", "pages"), [(False, 256), (True, 4096)])
def test_every_commit_is_synced_despite_rare_checkpoints(
    path: Path, *, in_bulk: bool, pages: int
) -> None:
    full = 2
    with closing(open_sqlite(path, in_bulk=in_bulk)) as ledger:
        ask = ledger._connection.execute
        assert ask("PRAGMA journal_mode").fetchone() == ("wal",)
        assert ask("PRAGMA synchronous").fetchone() == (full,)
        assert ask("PRAGMA wal_autocheckpoint").fetchone() == (pages,)


class TestPlans:
    """Each question walks an index from its newest end; nothing is sorted, nothing is guessed."""

    OBJECT = "INDEX record_object (name=? AND namespace=?"
    PLANS: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "SCAN record"),
        ({"until": TIME}, "PRIMARY KEY (id<?"),
        ({"since": TIME, "until": TIME}, "PRIMARY KEY (id>? AND id<?"),
        ({"before": an_attempt().id}, "PRIMARY KEY (id<?"),
        ({"actor": "x"}, "INDEX record_actor (actor=?"),
        ({"actor": "x", "since": TIME}, "INDEX record_actor (actor=? AND id>?"),
        ({"actor": "x", "before": an_attempt().id}, "INDEX record_actor (actor=? AND id<?"),
        ({"actor": "x", "verdict": "deny"}, "INDEX record_denied_actor (actor=?"),
        ({"actor": "x", "namespace": "y"}, "INDEX record_actor (actor=?"),
        ({"ticket": "x"}, "INDEX record_ticket (ticket=?"),
        ({"ticket": "x", "field": "/spec"}, "INDEX record_ticket (ticket=?"),
        ({"ticket": "x", "cluster": "y"}, "INDEX record_ticket (ticket=?"),
        ({"app": "x"}, "INDEX record_app (app=?"),
        ({"app": "x", "engine": "y", "app_namespace": "z"}, "INDEX record_app (app=?"),
        ({"grant": "x"}, "INDEX record_grant (grant=?"),
        ({"granted": True}, "INDEX record_granted"),
        ({"granted": True, "since": TIME}, "INDEX record_granted (id>?"),
        ({"granted": True, "actor": "x"}, "INDEX record_actor (actor=?"),
        ({"verdict": "deny"}, "INDEX record_denied (verdict=?"),
        ({"verdict": "deny", "until": TIME}, "INDEX record_denied (verdict=? AND id<?"),
        ({"namespace": "x"}, "INDEX record_namespace (namespace=?"),
        ({"namespace": "x", "kind": "y"}, "INDEX record_namespace (namespace=?"),
        ({"namespace": "x", "name": "y"}, OBJECT),
        ({"namespace": "x", "name": "y", "kind": "z", "group": ""}, OBJECT),
        ({"namespace": "x", "name": "y", "actor": "z"}, OBJECT),
        ({"namespace": "x", "name": "y", "field": "/spec"}, f"COVERING {OBJECT}"),
        ({"namespace": "", "name": "y", "field": "/spec", "since": TIME}, f"COVERING {OBJECT}"),
        ({"namespace": "x", "name": "y", "field": "/spec", "kind": "z"}, f"COVERING {OBJECT}"),
    )

    @pytest.mark.parametrize(("asked", "plan"), PLANS, ids=["-".join(each) for each, _ in PLANS])
    def test_query_uses_an_index_without_sorting(
        self, ledger: SqliteLedger, asked: dict[str, Any], plan: str
    ) -> None:
        ledger.append(records_of(*(an_attempt(name=f"web-{each % 9}") for each in range(300))))
        steps = self.explained(ledger, Question(**asked))
        assert plan in steps[0]
        assert "TEMP B-TREE" not in " ".join(steps)

    def test_query_by_name_without_namespace_uses_the_object_index(
        self, ledger: SqliteLedger
    ) -> None:
        steps = self.explained(ledger, Question(name="web"))
        assert "INDEX record_object (name=?)" in steps[0]

    @pytest.mark.parametrize(
        "asked", [{"kind": "x"}, {"engine": "x"}, {"cluster": "x"}, {"field": "/spec"}]
    )
    def test_query_for_a_common_value_scans_from_the_newest(
        self, ledger: SqliteLedger, asked: dict[str, Any]
    ) -> None:
        assert self.explained(ledger, Question(**asked)) == ["SCAN record"]

    def test_open_grants_are_found_by_index(self, ledger: SqliteLedger) -> None:
        asked: list[str] = []
        ledger._connection.set_trace_callback(asked.append)
        ledger.open_grants("test", TIME)
        steps = self.steps(ledger, asked[-1], ())
        assert "INDEX record_grant_expires (grant_expires>?)" in steps[0]
        assert any("INDEX record_grant (grant=?" in step for step in steps)

    def explained(self, ledger: SqliteLedger, question: Question) -> list[str]:
        statement = statement_of(question)
        return self.steps(ledger, statement.text, statement.values)

    def steps(self, ledger: SqliteLedger, statement: str, values: tuple[object, ...]) -> list[str]:
        found = ledger._connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
        return [detail for *_, detail in found]


class TestOpening:
    def test_reader_creates_no_file(self, path: Path) -> None:
        with pytest.raises(LedgerMissing, match=f"no ledger at {path}"):
            open_sqlite(path, create=False)
        assert not path.exists()

    @pytest.mark.parametrize("create", [True, False])
    def test_database_of_another_program_is_not_changed(self, path: Path, *, create: bool) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE theirs (x)")
        before = path.read_bytes()
        with pytest.raises(LedgerMissing, match="is not a ledger"):
            open_sqlite(path, create=create)
        assert path.read_bytes() == before

    def test_empty_file_becomes_a_ledger_only_for_a_writer(self, path: Path) -> None:
        path.touch()
        with pytest.raises(LedgerMissing, match="is not a ledger"):
            open_sqlite(path, create=False)
        open_sqlite(path).close()
        open_sqlite(path, create=False).close()

    def test_unwritable_path_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(LedgerUnavailable, match="cannot be opened"):
            open_sqlite(tmp_path / "file" / "ledger.db")

    @pytest.mark.parametrize("create", [True, False])
    def test_file_that_is_no_database_is_reported_and_not_changed(
        self, path: Path, *, create: bool
    ) -> None:
        path.write_text("something else " * 100)
        with pytest.raises(LedgerDamaged, match="not a database"):
            open_sqlite(path, create=create)
        assert path.read_text() == "something else " * 100

    def test_tables_of_a_later_version_are_rejected(
        self, tool: sqlite3.Connection, path: Path
    ) -> None:
        tool.execute("PRAGMA user_version = 99")
        for opening in (open_sqlite, migrate_sqlite):
            with pytest.raises(LaterTables, match=r"version 99, .* run a later glasswarden"):
                opening(path)

    def test_older_file_gets_missing_tables_and_keeps_its_records(
        self, ledger: SqliteLedger, tool: sqlite3.Connection, path: Path
    ) -> None:
        ledger.append(records := records_of(an_attempt()))
        ledger.close()
        for table in ("episode", "episode_value", "term"):
            tool.execute(f"DROP TABLE {table}")
        tool.execute("DROP INDEX record_denied_actor")
        tool.execute("PRAGMA user_version = 1")
        with pytest.raises(MigrationNeeded, match="run: glasswarden ledger migrate"):
            open_sqlite(path, create=False)
        assert migrate_sqlite(path) == [f"migrated {path} to version {VERSION}"]
        assert migrate_sqlite(path) == []
        with closing(open_sqlite(path, create=False)) as opened:
            assert opened.ask(Question()) == records
        assert [*tool.execute("SELECT count(*) FROM episode")] == [(0,)]

    def test_several_writers_can_create_the_file_concurrently(self, path: Path) -> None:
        start = threading.Barrier(4)
        opened = []

        def make() -> None:
            start.wait()
            open_sqlite(path).close()
            opened.append(path)

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == 4

    @pytest.mark.parametrize(
        "address", ["", "ledger.db", "sqlite://", "sqlite:///", "mysql://x/y", "sqlite://host/x"]
    )
    def test_address_without_a_path_is_rejected_with_an_example(self, address: str) -> None:
        with pytest.raises(AddressInvalid, match="sqlite:///"):
            open_ledger(address)

    def test_address_contains_the_file_and_its_keys(self, tmp_path: Path) -> None:
        address = f"sqlite://{tmp_path}/with%20space%3F%23.db"
        open_ledger(address).close()
        assert (tmp_path / "with space?#.db").exists()
        assert keys_beside(address) == tmp_path / "with space?#.db.keys"


class TestErrors:
    def test_damaged_file_is_reported(self, path: Path) -> None:
        with closing(open_sqlite(path)) as ledger:
            ledger.append(records_of(*(an_attempt() for _ in range(200))))
        content = bytearray(path.read_bytes())
        for page in range(4096 * 2, len(content), 4096):
            content[page : page + 64] = b"\xff" * 64
        path.write_bytes(content)
        with (
            pytest.raises(LedgerDamaged, match="restore it"),
            closing(open_sqlite(path)) as ledger,
        ):
            list(ledger.rows_since())

    def test_body_that_cannot_be_decompressed_is_returned_as_stored(
        self, ledger: SqliteLedger, tool: sqlite3.Connection
    ) -> None:
        ledger.append(records_of(an_attempt()))
        tool.execute("UPDATE record SET body = x'ff'")
        assert [row.body for row in ledger.rows_since()] == [b"\xff"]
        with pytest.raises(RecordMalformed):
            ledger.ask(Question())

    @pytest.mark.parametrize(
        "change",
        [
            "id = x''",
            "id = x'00'",
            "id = zeroblob(16)",
            "id = zeroblob(99)",
            "time = -9223372036854775808",
            "time = 9223372036854775807",
            "grant_expires = 9223372036854775807",
            "sequence = 7",
            "actor = 'somebody else'",
            "fields = x'ff'",
            "digest = x''",
            "signature = 'x'",
            "body = zeroblob(1000)",
        ],
    )
    def test_tampered_row_is_still_returned(
        self, ledger: SqliteLedger, tool: sqlite3.Connection, change: str
    ) -> None:
        """Whoever verifies must see what was done to it, and what stands behind it."""
        ledger.append(records_of(an_attempt(), an_attempt()))
        untouched = list(ledger.rows_since())
        tool.execute(f"UPDATE record SET {change} WHERE sequence = 1")  # noqa: S608 - ours
        rows = list(ledger.rows("writer-1"))
        assert len(rows) == 2
        assert untouched[0] not in rows
        assert untouched[1] in rows

    def test_wait_for_a_lock_of_another_program_is_limited(
        self, path: Path, tool: sqlite3.Connection
    ) -> None:
        records = records_of(an_attempt())
        with closing(open_sqlite(path, patience=0.01)) as ledger:
            tool.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerUnavailable, match="locked"):
                ledger.append(records)
            tool.execute("ROLLBACK")
            ledger.append(records)
            assert ledger.ask(Question()) == records

    def test_full_file_stores_no_record_of_a_batch_and_recovers(self, ledger: SqliteLedger) -> None:
        first, *rest = records_of(*(an_attempt() for _ in range(400)))
        ledger.append([first])
        [pages] = ledger._connection.execute("PRAGMA page_count").fetchone()
        ledger._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(LedgerUnavailable, match="full"):
            ledger.append(rest)
        assert ledger.ask(Question()) == [first]
        ledger._connection.execute("PRAGMA max_page_count = 100000")
        ledger.append(rest)
        assert len(list(ledger.rows_since())) == 400

    def test_walk_does_not_prevent_checkpoints(
        self, ledger: SqliteLedger, tool: sqlite3.Connection
    ) -> None:
        ledger.append(records_of(an_attempt(), an_attempt()))
        walk = ledger.rows_since()
        next(walk)
        busy, _, _ = tool.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not busy
        assert len(list(walk)) == 1
