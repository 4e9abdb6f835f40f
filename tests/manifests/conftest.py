"""The real promtool, where it is built."""

import os
from pathlib import Path

import pytest

from tests.cluster.build import missing, path_of
from tests.cluster.catalogue import PROMTOOL


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that run promtool."""
    for item in items:
        if "promtool" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.promtool)


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Return the program; without it the test is skipped, or fails where nothing may be."""
    if missing([PROMTOOL]):
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse("NOT TESTED: promtool is not built on this machine; run `make e2e` once")
    return path_of(PROMTOOL, PROMTOOL.programs[0])
