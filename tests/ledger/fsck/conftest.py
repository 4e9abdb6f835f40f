"""Somebody who tampers with the ledger of a test."""

import pytest

from tests.ledger.fsck.builders import Intruder


@pytest.fixture
def intruder(address: str) -> Intruder:
    """Return somebody who writes to the database without the program."""
    return Intruder(address)
