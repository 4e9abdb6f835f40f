"""A PostgreSQL to measure with: on loopback, and with every commit synced as in production."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.lab.figure import CannotRun
from glasswarden.ledger.open import migrate_ledger
from tests.cache import PackageOutOfReach
from tests.cluster.processes import LOOPBACK, free_ports
from tests.postgres_server import USER, find_programs, restartable_server


@contextmanager
def migrated_server() -> Iterator[str]:
    """Run a server with the ledger's tables; yield the ledger's address."""
    try:
        programs = find_programs()
    except PackageOutOfReach as error:
        raise CannotRun(f"no PostgreSQL on this machine. {error}") from error
    [port] = free_ports(1)
    with restartable_server(programs, (f"-clisten_addresses={LOOPBACK}", f"-p{port}")):
        address = f"postgresql://{USER}@{LOOPBACK}:{port}/postgres"
        migrate_ledger(address)
        yield address
