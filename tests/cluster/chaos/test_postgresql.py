"""The ledger's database has its own incidents: no record is lost, and every verdict is right."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from glasswarden.cluster.client import Forbidden
from glasswarden.ledger.open import migrate_ledger
from tests.chaos import Note
from tests.cluster.chaos.stand import Stand, deploy, new_stand
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Caller
from tests.cluster.load import repeating, writing
from tests.cluster.retries import eventually
from tests.postgres_server import Server, restartable_server
from tests.webhook.evidence import spooled
from tests.webhook.workers import Webhook

pytestmark = pytest.mark.postgres

CONNECTIONS = 12
AWAY_SECONDS = 4.0
END_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND usename IS NOT NULL AND application_name <> 'greedy'
"""


@pytest.fixture
def server() -> Iterator[Server]:
    options = ("-clisten_addresses=", "-cfsync=off", f"-cmax_connections={CONNECTIONS}")
    with restartable_server(options=options) as server:
        migrate_ledger(server.url)
        yield server


@contextmanager
def gone(server: Server) -> Iterator[None]:
    server.stop()
    yield
    server.start()


@contextmanager
def slow(server: Server) -> Iterator[None]:
    """Have somebody hold the lock that every append needs."""
    with psycopg.connect(server.url) as connection:
        connection.execute("LOCK TABLE glasswarden.record IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def out_of_connections(server: Server) -> Iterator[None]:
    """Take all connections, also those that the webhook had."""
    with ExitStack() as stack:
        boss = stack.enter_context(psycopg.connect(server.url, autocommit=True))
        taken = 0
        while taken < CONNECTIONS - 1:
            boss.execute(END_OTHERS)
            try:
                greedy = psycopg.connect(server.url, application_name="greedy")
            except psycopg.OperationalError:
                time.sleep(0.01)
                continue
            stack.enter_context(greedy)
            taken += 1
        yield


@contextmanager
def failed_over(server: Server) -> Iterator[None]:
    """Put another server, with the data of the old one, in its place."""
    server.kill()
    yield
    server.replace()


FAULTS = {
    "gone": gone,
    "slow (a lock held)": slow,
    "out of connections": out_of_connections,
    "failed over": failed_over,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_database_fault_under_writes_loses_no_record(
    fault: str,
    server: Server,
    cluster: ControlPlane,
    flux_account: Caller,
    namespace: str,
    tmp_path: Path,
    chaos: Note,
) -> None:
    stand = new_stand(cluster, tmp_path, ledger=server.url)
    deploy(flux_account, namespace, "web", "api")
    replica = stand.replica()
    with replica, stand.asked_at(replica.port):
        acts = [refusing(stand, namespace, name) for name in ("web", "api")]
        acts.append(writing(stand.objects("developer"), namespace, "web"))
        with repeating(*acts) as tallies:
            time.sleep(1)
            with FAULTS[fault](server):
                before = [tally.calls for tally in tallies]
                time.sleep(AWAY_SECONDS)
                during = [tally.calls for tally in tallies]
            eventually(lambda: is_delivered(replica), "all to be delivered", seconds=60)
            time.sleep(1)
    failures = [failure for tally in tallies for failure in tally.failures]
    witnessed, lost = stand.witnessed(namespace), stand.lost(namespace)
    chaos(
        f"PostgreSQL {fault}",
        guarded_writes=sum(tally.calls for tally in tallies),
        of_them_during_the_fault=sum(during) - sum(before),
        wrong_verdicts=len(failures),
        records_witnessed=len(witnessed),
        lost=len(lost),
        longest_wait_s=max(second for tally in tallies for second in tally.seconds),
    )
    assert (failures, lost) == ([], [])
    assert len(witnessed) >= tallies[0].calls + tallies[1].calls
    assert all(after > earlier for after, earlier in zip(during, before, strict=True))


def is_delivered(replica: Webhook) -> bool:
    return not spooled(replica.log.parent / "spool")


def refusing(stand: Stand, namespace: str, name: str) -> Callable[[], None]:
    """Return a write that is refused, by the rules and for no other reason."""
    # Not the annotation that others write: the value that is there already would change nothing.
    write = writing(stand.objects("outsider"), namespace, name, "tock")

    def refuse() -> None:
        try:
            write()
        except Forbidden as error:
            if "this direct write is refused" not in str(error):
                raise
        else:
            raise OSError("a guarded write went through")

    return refuse
