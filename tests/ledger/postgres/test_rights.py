"""The roles of docs/postgresql.md can do their work, and nothing else."""

import re
import secrets
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from correlator.episodes.episode import Changes
from correlator.episodes.open import open_history
from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.ledger import LegalHold
from glasswarden.ledger.open import migrate_ledger, open_ledger
from glasswarden.ledger.query import Question
from tests.cluster.retries import eventually
from tests.correlator.episodes.builders import a_sighting
from tests.ledger.builders import TIME, a_tombstone, an_attempt, an_opening, records_of
from tests.postgres_server import USER

pytestmark = pytest.mark.postgres

PAGE = Path(__file__).parents[3] / "docs" / "postgresql.md"
LATE = datetime(2019, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Installation:
    """A database as the documentation has it made, under names of its own."""

    superuser: str
    owner: str
    webhook: str
    correlator: str
    reader: str


@pytest.fixture
def installed(postgres_url: str) -> Iterator[Installation]:
    """Do what the page says, word for word."""
    unique = f"test_{secrets.token_hex(4)}"
    [make, grants] = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    make = re.sub(r"\bglasswarden(_[a-z]+)?\b", rf"{unique}\1", make)
    grants = re.sub(r"\bglasswarden_(webhook|correlator|reader)\b", rf"{unique}_\1", grants)

    def as_(role: str) -> str:
        return postgres_url.replace(f"{USER}@/postgres", f"{role}@/{unique}")

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in filter(str.strip, make.split(";")):
            connection.execute(statement.encode())
        roles = [f"{unique}_{name}" for name in ("owner", "webhook", "correlator", "reader")]
        migrate_ledger(as_(roles[0]))
        with psycopg.connect(as_(roles[0])) as owner:
            owner.execute(grants.encode())
        yield Installation(as_(USER), *map(as_, roles))
        connection.execute(f"DROP DATABASE {unique} WITH (FORCE)".encode())
        connection.execute(f"DROP ROLE {', '.join(roles)}".encode())


def test_webhook_role_can_append_and_query(installed: Installation) -> None:
    with closing(open_ledger(installed.webhook)) as ledger:
        first = records_of(an_opening(), an_attempt())
        ledger.append(first)
        ledger.append(first)
        ledger.append(records_of(an_opening(*ledger.unwitnessed_heads()), writer="other"))
        assert ledger.ask(Question(actor="developer")) == first[1:]
        assert ledger.open_grants("test", TIME) == []
        assert len([*ledger.rows_since()]) == 3
        assert ledger.holds() == []


def test_webhook_role_can_create_a_partition(installed: Installation) -> None:
    with closing(open_ledger(installed.webhook)) as ledger:
        ledger.append(late := records_of(an_attempt(time=LATE)))
        assert ledger.ask(Question()) == late


TAMPERING = {
    "edit": "UPDATE glasswarden.record SET actor = 'nobody'",
    "delete": "DELETE FROM glasswarden.record",
    "truncate": "TRUNCATE glasswarden.record",
    "drop": "DROP TABLE glasswarden.record",
    "edit a month": "UPDATE glasswarden.record_2019_03 SET actor = 'nobody'",
    "delete in a month": "DELETE FROM glasswarden.record_2019_03",
    "drop a month": "DROP TABLE glasswarden.record_2019_03",
    "detach a month": "ALTER TABLE glasswarden.record DETACH PARTITION glasswarden.record_2019_03",
    "add a trigger": "CREATE TRIGGER t BEFORE INSERT ON glasswarden.record FOR EACH ROW"
    " EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "replace the function": "CREATE OR REPLACE FUNCTION glasswarden.make_month(timestamptz)"
    " RETURNS text LANGUAGE sql AS 'SELECT 1'",
    "forget a chain": "DELETE FROM glasswarden.chain",
    "hold": "INSERT INTO glasswarden.legal_hold VALUES ('T-1', now(), '', '')",
    "release": "DELETE FROM glasswarden.legal_hold",
    "version": "DELETE FROM glasswarden.migration",
}


@pytest.mark.parametrize("role", ["webhook", "correlator", "reader"])
def test_only_the_owner_can_change_stored_records(installed: Installation, role: str) -> None:
    with closing(open_ledger(installed.webhook)) as ledger:
        ledger.append(records := records_of(an_attempt(time=LATE)))
        with psycopg.connect(getattr(installed, role), autocommit=True) as connection:
            for statement in TAMPERING.values():
                with pytest.raises(errors.InsufficientPrivilege):
                    connection.execute(statement.encode())
        assert ledger.ask(Question()) == records


def test_reader_role_can_only_query(installed: Installation) -> None:
    with closing(open_ledger(installed.webhook)) as ledger:
        ledger.append(records := records_of(an_attempt()))
    with closing(open_ledger(installed.reader)) as ledger:
        assert ledger.ask(Question()) == records
        assert [row.body for row in ledger.rows("writer-1")] == [records[0].body]
        with pytest.raises(LedgerUnavailable, match="permission denied"):
            ledger.append(records_of(an_attempt(), writer="reader"))
        assert ledger.ask(Question()) == records


def test_correlator_role_can_query_and_write_episodes(installed: Installation) -> None:
    with closing(open_ledger(installed.webhook)) as ledger:
        ledger.append(records := records_of(an_attempt()))
    with closing(open_ledger(installed.correlator)) as ledger:
        assert ledger.ask(Question()) == records
        with pytest.raises(LedgerUnavailable, match="permission denied"):
            ledger.append(records_of(an_attempt(), writer="correlator"))
    with closing(open_history(installed.correlator)) as history:
        term = history.lead("test", "one", TIME)
        history.store(term, Changes(opened=(a_sighting(),)), TIME)
        [episode] = history.open("test")
        history.store(term, Changes(gone=(episode,)), TIME)
        assert history.forget(term, TIME, most=0) == 1


def test_reader_role_can_query_episodes(installed: Installation) -> None:
    with closing(open_history(installed.reader)) as history:
        assert history.episodes(TIME) == []
        with pytest.raises(LedgerUnavailable, match="permission denied"):
            history.lead("test", "reader", TIME)


def test_webhook_role_cannot_prune(installed: Installation) -> None:
    with closing(open_ledger(installed.webhook)) as ledger:
        ledger.append(records := records_of(an_attempt()))
        [stone] = records_of(a_tombstone("writer-1", 1), writer="pruner")
        with pytest.raises(LedgerUnavailable, match="permission denied"):
            ledger.remove("writer-1", 1, [], stone)
        assert ledger.ask(Question()) == records


def test_owner_can_hold_prune_and_drop_partitions(installed: Installation) -> None:
    with closing(open_ledger(installed.owner)) as ledger:
        ledger.append(records_of(an_attempt(time=LATE)))
        ledger.hold(hold := LegalHold("INC-42", TIME, "lead", ""))
        assert ledger.holds() == [hold]
        [stone] = records_of(a_tombstone("writer-1", 1), writer="pruner")
        ledger.remove("writer-1", 1, [], stone, held=["INC-42"])
        assert ledger.ask(Question()) == []
    with psycopg.connect(installed.owner) as connection:
        found = connection.execute("SELECT to_regclass('glasswarden.record_2019_03')").fetchone()
    assert found == (None,)


def test_role_without_rights_gets_permission_denied(installed: Installation) -> None:
    with psycopg.connect(installed.owner) as connection:
        role = installed.reader.partition("//")[2].partition("@")[0]
        connection.execute(f"REVOKE USAGE ON SCHEMA glasswarden FROM {role}".encode())
    with pytest.raises(LedgerUnavailable, match="permission denied for schema glasswarden"):
        open_ledger(installed.reader)


def test_ledger_is_unavailable_at_the_connection_limit_of_its_role(installed: Installation) -> None:
    role = installed.webhook.partition("//")[2].partition("@")[0]
    with psycopg.connect(installed.superuser, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE {role} CONNECTION LIMIT 1".encode())
    ledger = open_ledger(installed.webhook)
    with pytest.raises(LedgerUnavailable, match="too many connections"):
        open_ledger(installed.webhook)
    ledger.close()
    # The server ends a connection in its own time.
    eventually(lambda: opens(installed.webhook), "the one connection to be free again")


def opens(address: str) -> bool:
    try:
        open_ledger(address).close()
    except LedgerUnavailable:
        return False
    return True
