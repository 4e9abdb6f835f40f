"""The program's passes: one that fails costs that pass, whatever the cluster holds."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest

from certs.program import Program
from glasswarden.cluster.client import Conflict, Unreachable

if TYPE_CHECKING:
    from certs.controller import CertificateController


class FailingController:
    """Fails at its first passes, and ends the program after its last."""

    def __init__(self, *failures: Exception) -> None:
        self.turns = 0
        self.program = Program(cast("CertificateController", self), None, timedelta(seconds=0))
        self._failures = failures

    def run_pass(self, _now: datetime) -> None:
        self.turns += 1
        if self.turns == len(self._failures):
            self.program.stop()
        raise self._failures[self.turns - 1]


@pytest.mark.parametrize(
    "failure",
    [
        Conflict("web"),
        Unreachable("nobody answers"),
        OSError(),
        RecursionError(),
        KeyError("data"),
        TypeError(),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_error_in_a_pass_does_not_end_the_program(failure: Exception) -> None:
    controller = FailingController(failure, failure, failure)
    controller.program.run()
    assert controller.turns == 3
