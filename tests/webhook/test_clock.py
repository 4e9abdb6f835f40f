"""A clock that is set is reported, one that runs is not."""

import pytest
from structlog.testing import capture_logs

from webhook.clock import ClockMonitor


class Machine:
    """Two clocks, of which one can be set."""

    def __init__(self) -> None:
        self.passed = 1000.0
        self.set_by = 0.0

    def clock(self) -> ClockMonitor:
        return ClockMonitor(lambda: 1.7e9 + self.passed + self.set_by, lambda: self.passed)


@pytest.mark.parametrize(
    ("set_by", "said"),
    [(0.0, []), (0.5, []), (3600.0, [3600]), (-3600.0, [-3600])],
    ids=["not at all", "slewed", "forward", "back"],
)
def test_clock_jump_is_logged_once(set_by: float, said: list[int]) -> None:
    machine = Machine()
    clock = machine.clock()
    with capture_logs() as logs:
        for _ in range(3):
            machine.passed += 1
            clock.check()
        machine.set_by = set_by
        for _ in range(3):
            machine.passed += 1
            clock.check()
    assert [line["seconds"] for line in logs] == said
