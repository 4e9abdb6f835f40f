"""Fixtures for every folder of tests."""

from tests.chaos import chaos, pytest_collection_modifyitems, pytest_terminal_summary
from tests.postgres_server import postgres_url

__all__ = ["chaos", "postgres_url", "pytest_collection_modifyitems", "pytest_terminal_summary"]
