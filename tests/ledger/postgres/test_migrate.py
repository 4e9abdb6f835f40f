"""`glasswarden ledger migrate`, and the error where it has not been run."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from click.testing import CliRunner

from glasswarden.cli.main import main
from glasswarden.ledger.errors import MigrationNeeded
from glasswarden.ledger.open import migrate_ledger, open_ledger
from glasswarden.ledger.postgres.schema import MIGRATIONS, VERSION
from tests.postgres_server import new_database

NEW = "nothing to do\n"


@pytest.fixture
def empty(postgres_url: str) -> Iterator[str]:
    """Return the address of a database with nothing in it."""
    with new_database(postgres_url) as url:
        yield url


def said(address: str) -> str:
    done = CliRunner().invoke(main, ["ledger", "migrate", "--ledger", address])
    assert done.exit_code == 0, done.output
    return done.output


def test_steps_are_numbered_without_gaps() -> None:
    assert [step.number for step in MIGRATIONS] == [*range(1, VERSION + 1)]


def test_sqlite_ledger_is_created_once(sqlite_address: str) -> None:
    assert said(sqlite_address).startswith("made ")
    assert said(sqlite_address) == NEW


@pytest.mark.postgres
class TestPostgresql:
    def test_migrate_reports_its_steps(self, empty: str) -> None:
        lines = said(empty).splitlines()
        applied = [f"applied {step.number}: {step.summary}" for step in MIGRATIONS]
        assert lines[: len(applied)] == applied
        assert len([line for line in lines if "made the partition record_" in line]) == 4

    def test_second_migrate_changes_nothing(self, empty: str) -> None:
        said(empty)
        assert said(empty) == NEW

    def test_only_one_of_several_concurrent_migrates_runs(self, empty: str) -> None:
        with ThreadPoolExecutor(4) as pool:
            done = [*pool.map(migrate_ledger, [empty] * 4)]
        assert sorted(map(bool, done)) == [False, False, False, True]

    def test_ledger_does_not_open_before_migrate_and_names_the_command(self, empty: str) -> None:
        with pytest.raises(MigrationNeeded, match="run: glasswarden ledger migrate"):
            open_ledger(empty)

    def test_ledger_does_not_open_with_tables_of_an_older_version(self, empty: str) -> None:
        migrate_ledger(empty)
        with psycopg.connect(empty) as connection:
            connection.execute("UPDATE glasswarden.migration SET number = number - 1")
        with pytest.raises(MigrationNeeded, match="run: glasswarden ledger migrate"):
            open_ledger(empty)

    def test_migrate_does_not_change_tables_of_a_later_version(self, empty: str) -> None:
        migrate_ledger(empty)
        with psycopg.connect(empty) as connection:
            connection.execute("INSERT INTO glasswarden.migration VALUES (99, now(), 'later')")
        for refused in (open_ledger, migrate_ledger):
            with pytest.raises(MigrationNeeded, match="version 99"):
                refused(empty)

    def test_failed_step_is_rolled_back(self, empty: str) -> None:
        with psycopg.connect(empty) as connection:
            connection.execute("CREATE SCHEMA glasswarden")
            connection.execute("CREATE TABLE glasswarden.legal_hold (theirs int)")
        done = CliRunner().invoke(main, ["ledger", "migrate", "--ledger", empty])
        assert done.exit_code == 1
        assert "legal_hold" in done.output
        with psycopg.connect(empty) as connection:
            found = connection.execute("SELECT to_regclass('glasswarden.record')").fetchone()
        assert found == (None,)
