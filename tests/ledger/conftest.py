"""A new ledger for a test, in every database that can keep one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeAlias

import pytest

from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import migrate_ledger, open_ledger
from tests.postgres_server import new_database

Opener: TypeAlias = Callable[[], Ledger]


@pytest.fixture
def sqlite_address(tmp_path: Path) -> str:
    """Return the address of a file that is not there yet."""
    return f"sqlite://{tmp_path}/ledger.db"


@pytest.fixture
def postgresql_address(postgres_url: str) -> Iterator[str]:
    """Return the address of a database of its own with the ledger's tables."""
    with new_database(postgres_url) as url:
        migrate_ledger(url)
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest) -> str:
    """Return the address of a new, empty ledger."""
    found: str = request.getfixturevalue(f"{request.param}_address")
    return found


@pytest.fixture
def opener(address: str) -> Iterator[Opener]:
    """Return what opens the same ledger, again and again; all are closed in the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(open_ledger(address)))


@pytest.fixture
def ledger(opener: Opener) -> Ledger:
    """Return a new, empty ledger."""
    return opener()
