"""The real promtool, where it is built."""

import os
from pathlib import Path

import pytest

from tests.cluster.build import missing, path_of
from tests.cluster.catalogue import PROMTOOL


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Return the program; without it the test is skipped, or fails where nothing may be."""
    if missing([PROMTOOL]):
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse("NOT TESTED: promtool is not built on this machine; run `make programs` once")
    return path_of(PROMTOOL, PROMTOOL.programs[0])
