"""The verdict on a write, with the clause that gave it and what the writer is told."""

from dataclasses import dataclass
from enum import StrEnum

from glasswarden.policy.breakglass.tokens import GrantUse
from glasswarden.policy.types import Mode


class Verdict(StrEnum):
    """What the API server is answered."""

    ALLOW = "allow"
    DENY = "deny"


class Clause(StrEnum):
    """The clauses of `decide`, by the names that records, logs and metrics use."""

    UNMANAGED = "unmanaged"
    NOISE = "noise"
    FINALIZING = "finalizing"
    EMERGENCY = "emergency"
    HELD = "held"
    CONTROLLER = "controller"
    DELEGATED = "delegated"
    MARKS = "marks"
    BENIGN = "benign"
    BREAKGLASS = "breakglass"
    GUARD = "guard"


RECORDED = frozenset(
    {Clause.EMERGENCY, Clause.HELD, Clause.MARKS, Clause.BENIGN, Clause.BREAKGLASS, Clause.GUARD}
)
"""The clauses that decide about a person's write or refuse a reconciler's: each leaves a record."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict is a value: a denial is an answer, not an exception."""

    verdict: Verdict
    clause: Clause
    mode: Mode | None = None
    """What the policy does with refused writes here; none where nothing was refused."""

    message: str = ""
    claim: str = ""
    """Of a refusal, why GitOps has a say in it: for others than the writer, so without values."""
    hitch: str = ""
    """Of a refusal, why no grant helps, or what else was in the way; without values too."""
    warnings: tuple[str, ...] = ()
    unavailable: bool = False
    """Whether it is refused for want of a record, not by the rules."""

    delegate: str = ""
    """Who owns the fields, where they were delegated."""
    grant: GrantUse | None = None
    """What the write did with a grant, where it asked for, used or ended one."""

    @property
    def allowed(self) -> bool:
        """Whether the write goes through."""
        return self.verdict is Verdict.ALLOW

    @property
    def recorded(self) -> bool:
        """Whether the ledger keeps it."""
        return self.clause in RECORDED
