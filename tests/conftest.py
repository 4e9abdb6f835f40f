"""Fixtures for every folder of tests, and what all of them stand on."""

import signal

import structlog
from hypothesis import HealthCheck, settings

from tests.chaos import chaos, pytest_collection_modifyitems, pytest_terminal_summary
from tests.postgres_server import postgres_url

__all__ = [
    "chaos",
    "postgres_url",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_terminal_summary",
]


# A busy machine is slow: no example may fail for the time that it takes.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_configure() -> None:
    """Handle Ctrl-C, and log tracebacks as plain text.

    A shell lets what it runs in the background ignore Ctrl-C, and whatever that starts.
    """
    # structlog draws tables of every local variable where rich is installed: seconds an exception.
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
