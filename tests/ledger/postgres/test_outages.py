"""An unavailable, frozen, busy or demoted database times out, and is used when available."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest

from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import migrate_ledger, open_ledger
from glasswarden.ledger.postgres.driver import PAGE, PostgresLedger
from glasswarden.ledger.postgres.session import Connection
from glasswarden.ledger.query import Question
from tests.ledger.builders import a_chain, an_attempt, records_of
from tests.postgres_server import Server, postgres_server, restartable_server

pytestmark = pytest.mark.postgres


@pytest.fixture
def address(postgresql_address: str) -> str:
    return postgresql_address


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that may be killed."""
    with restartable_server() as server:
        migrate_ledger(server.url)
        yield server


def connection_of(ledger: Ledger) -> Connection:
    """Return the connection that *ledger* has at the moment."""
    assert isinstance(ledger, PostgresLedger)
    assert ledger._session._connection is not None
    return ledger._session._connection


def backend_of(ledger: Ledger) -> int:
    """Return the process that serves *ledger*."""
    return connection_of(ledger).info.backend_pid


class TestKilledServer:
    def test_ledger_reconnects_with_all_acknowledged_records(self, server: Server) -> None:
        before, during, after = records_of(*(an_attempt() for _ in range(3)))
        with closing(open_ledger(server.url)) as ledger:
            ledger.append([before])
            server.kill()
            for work in (lambda: ledger.append([during]), lambda: ledger.ask(Question())):
                with pytest.raises(LedgerUnavailable):
                    work()
            server.start()
            assert ledger.ask(Question()) == [before]
            ledger.append([during, after])
            assert ledger.ask(Question()) == [after, during, before]

    def test_interrupted_walk_can_be_resumed(self, server: Server) -> None:
        with closing(open_ledger(server.url)) as ledger:
            ledger.append(records_of(*(an_attempt() for _ in range(900))))
            walk = ledger.rows_since()
            seen = [next(walk) for _ in range(PAGE)]
            server.kill()
            with pytest.raises(LedgerUnavailable):
                next(walk)
            server.start()
            rest = [*ledger.rows("writer-1", seen[-1].columns.sequence)]
            assert [row.columns.sequence for row in seen + rest] == [*range(1, 901)]

    def test_acknowledged_records_are_neither_lost_nor_duplicated(self, server: Server) -> None:
        """Killed again and again while it is written to; what failed is delivered again."""
        chain = a_chain()
        with closing(open_ledger(server.url)) as ledger:
            for round_ in range(3):
                backend = backend_of(ledger)
                for number in range(40):
                    records = chain.link([an_attempt(), an_attempt()])
                    if number == 20:
                        server.kill()
                    try:
                        ledger.append(records)
                    except LedgerUnavailable:
                        server.start()
                        ledger.append(records)
                    chain.advance(records)
                assert backend_of(ledger) != backend, round_
            assert [row.columns.sequence for row in ledger.rows("writer-1")] == [*range(1, 241)]
            assert ledger.heads() == [chain.head]


def test_broken_idle_connection_is_replaced(address: str) -> None:
    one, other = records_of(an_attempt(), an_attempt())
    with closing(open_ledger(address)) as ledger:
        ledger.append([one])
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", [backend_of(ledger)])
        ledger.append([other])
        assert ledger.ask(Question()) == [other, one]


class TestFrozenServer:
    def test_server_that_stops_answering_times_out(
        self, address: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Connection, "patience", 0.5)
        [record] = records_of(an_attempt())
        with closing(open_ledger(address)) as ledger:
            frozen = backend_of(ledger)
            os.kill(frozen, signal.SIGSTOP)
            try:
                with pytest.raises(LedgerUnavailable, match="does not answer"):
                    ledger.append([record])
                # Others are not stopped: the next call has another connection.
                assert ledger.ask(Question()) == []
                assert backend_of(ledger) != frozen
            finally:
                os.kill(frozen, signal.SIGCONT)
            ledger.append([record])
            assert ledger.ask(Question()) == [record]

    def test_host_that_accepts_without_answering_times_out(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            with pytest.raises(LedgerUnavailable, match="timeout"):
                open_ledger(f"postgresql://u@127.0.0.1:{port}/d?connect_timeout=2")


@pytest.mark.parametrize("limit", ["lock_timeout", "statement_timeout"])
def test_locked_database_makes_the_ledger_unavailable(address: str, limit: str) -> None:
    one, other = records_of(an_attempt(), an_attempt())
    with closing(open_ledger(address)) as ledger:
        ledger.append([one])
        with psycopg.connect(address) as connection:
            connection.execute("SELECT FROM glasswarden.chain FOR UPDATE")
            connection_of(ledger).execute(f"SET {limit} = '100ms'".encode())
            with pytest.raises(LedgerUnavailable, match=limit.replace("_", " ")):
                ledger.append([other])
            connection_of(ledger).execute(f"SET {limit} = DEFAULT".encode())
        ledger.append([other])
        assert ledger.ask(Question()) == [other, one]


def test_append_is_planned_once_and_queries_each_time(address: str) -> None:
    with closing(open_ledger(address)) as ledger:
        for record in records_of(*(an_attempt() for _ in range(8))):
            ledger.append([record])
            ledger.ask(Question(actor="developer"))
        prepared = connection_of(ledger).execute("SELECT statement FROM pg_prepared_statements")
        assert {"WITH moved" in statement for (statement,) in prepared} == {True}


def test_commits_are_synchronous_despite_another_default(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off'.encode())
    with closing(open_ledger(address)) as ledger:
        shown = connection_of(ledger).execute("SHOW synchronous_commit").fetchone()
    assert shown == ("on",)


class TestFailover:
    def test_ledger_connects_to_the_writable_server(self, address: str) -> None:
        with postgres_server() as standby:
            migrate_ledger(standby)
            with psycopg.connect(standby, autocommit=True) as connection:
                connection.execute(b"ALTER SYSTEM SET default_transaction_read_only = on")
                connection.execute("SELECT pg_reload_conf()")
            both = ",".join(url.partition("host=")[2] for url in (standby, address))
            name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
            with psycopg.connect(standby, autocommit=True) as connection:
                connection.execute("SET default_transaction_read_only = off")
                connection.execute(f'CREATE DATABASE "{name}"'.encode())
            several = f"{address.partition('host=')[0]}host={both}&target_session_attrs=read-write"
            with closing(open_ledger(several)) as ledger:
                ledger.append(records := records_of(an_attempt()))
        with closing(open_ledger(address)) as ledger:
            assert ledger.ask(Question()) == records

    def test_ledger_leaves_a_demoted_server(self, address: str) -> None:
        with closing(open_ledger(address)) as ledger:
            demoted = backend_of(ledger)
            connection_of(ledger).execute("SET default_transaction_read_only = on")
            ledger.append(records_of(an_attempt()))
            assert backend_of(ledger) != demoted


def test_rejected_password_is_not_in_the_error(server: Server) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE someone LOGIN PASSWORD 'right'")
        [file] = connection.execute("SHOW hba_file").fetchone() or [""]
        with open(file, "r+") as rules:  # noqa: PTH123 - written in place: the server owns it
            rest = rules.read()
            rules.seek(0)
            rules.write(f"local all someone scram-sha-256\n{rest}")
        connection.execute("SELECT pg_reload_conf()")
    address = server.url.replace("glasswarden@", f"someone:{quote('s3cret/word', safe='')}@")
    with pytest.raises(LedgerUnavailable, match="someone") as caught:
        open_ledger(address)
    assert "s3cret" not in f"{caught.value}{caught.value.__cause__}"
