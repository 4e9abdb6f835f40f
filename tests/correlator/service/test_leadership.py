"""Whether we lead: the thread that finds out survives whatever the Lease holds."""

from datetime import timedelta

import pytest

from correlator.service.program import Leadership
from glasswarden.cluster.client import Unreachable
from glasswarden.cluster.lease import Lease
from tests.cluster.retries import eventually


class ScriptedObjects:
    """A cluster that fails as scripted, and has a Lease that nobody holds afterwards."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)

    def get_or_none(self, _path: str) -> None:
        if self._failures:
            raise self._failures.pop(0)

    def create(self, _path: str, body: object) -> object:
        return body


@pytest.mark.parametrize(
    "failure",
    [Unreachable("nobody answers"), OSError(), RecursionError(), TypeError(), ValueError()],
    ids=lambda failure: type(failure).__name__,
)
def test_error_does_not_end_the_leader_election(failure: Exception) -> None:
    gained: list[bool] = []
    objects = ScriptedObjects(failure, failure)
    lease = Lease(objects, "shop", "leader", "one", timedelta(seconds=1))  # type: ignore[arg-type]
    leadership = Leadership(lease, lambda: gained.append(True))
    leadership.start()
    eventually(lambda: gained, "the lease", seconds=10)
    leadership.stop()
    assert gained == [True]
    assert not leadership.is_held
