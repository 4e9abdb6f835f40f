"""Fixtures for every folder of tests, and what all of them stand on."""

import signal

from tests.chaos import chaos, pytest_collection_modifyitems, pytest_terminal_summary
from tests.postgres_server import postgres_url

__all__ = [
    "chaos",
    "postgres_url",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_terminal_summary",
]


def pytest_configure() -> None:
    """Heed Ctrl-C, as the programs that tests start then do.

    A shell has what it runs in the background ignore it, and whatever that starts.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
