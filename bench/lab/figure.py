"""A goal before it is measured, a figure after."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

TIMES: Final = "\N{MULTIPLICATION SIGN}"

Sign = Literal["≤", "≥"]
Holds = bool | str

_COMPARE: Final[dict[Sign, Callable[[float, float], bool]]] = {
    "≤": operator.le,
    "≥": operator.ge,
}


def times(ratio: float) -> str:
    """Return *ratio* as a person writes it."""
    return f"{ratio:.2f} {TIMES}"


class CannotRun(Exception):
    """This machine lacks what the benchmark needs; the message says what."""


class Unexpected(Exception):
    """A server answered what it should not have: whatever was measured means nothing."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    work: str
    goal: str
    figure: str
    holds: Holds
    """Whether the goal was reached; text where that is not known, saying why."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One row's promise: what is measured, and the bound that it must keep."""

    work: str
    sign: Sign
    bound: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g} {self.unit}".rstrip()

    def judged(self, value: float, figure: str) -> Figure:
        """Return the row for the measured *value*, told as *figure*."""
        return Figure(self.work, str(self), figure, _COMPARE[self.sign](value, self.bound))

    def unknown(self, reason: str) -> Figure:
        """Return the row for a measurement that did not take place."""
        return Figure(self.work, str(self), "", reason)
