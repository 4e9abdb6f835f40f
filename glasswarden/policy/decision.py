"""The verdict on a write, with the clause that gave it and what the writer is told."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What the API server is answered."""

    ALLOW = "allow"
    DENY = "deny"


class Clause(StrEnum):
    """The clauses of `decide`, by the names that records, logs and metrics use."""

    UNMANAGED = "unmanaged"
    NOISE = "noise"
    CONTROLLER = "controller"
    GUARD = "guard"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict is a value: a denial is an answer, not an exception."""

    verdict: Verdict
    clause: Clause
    message: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the write goes through."""
        return self.verdict is Verdict.ALLOW
