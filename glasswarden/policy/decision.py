"""The verdict on a write, and its reasons as data.

No text for anybody is made here: `messages` renders what the writer and others read.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from glasswarden.policy.breakglass.rules import Rule
from glasswarden.policy.breakglass.tokens import GrantUse, Stamp
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
"""The clauses that decide about a person's write or deny a reconciler's: each leaves a record."""


@dataclass(frozen=True, slots=True)
class MayRequest:
    """The writer may ask for a grant."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class OutsideHours:
    """The writer may ask for a grant by this rule, but not at this hour."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class NotCovered:
    """No grant that the writer may ask for covers this write."""

    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class OthersMay:
    """The writer may not ask for a grant; whom these rules name may."""

    rules: tuple[Rule, ...]


BreakGlassOption: TypeAlias = MayRequest | OutsideHours | NotCovered | OthersMay


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a clause is against a write, whatever the mode makes of that.

    The denied changes are the write's own.
    """

    forgery: str = ""
    """What is wrong with the stamps that the write would leave."""
    hold: Stamp | None = None
    """The grant for which a reconciler's deletion has to wait."""
    no_grant: str = ""
    """Why no grant allows the write, where the writer asked for one or there is one."""
    option: BreakGlassOption | None = None
    """What else break-glass offers the writer; nothing where they know, or where it cannot help."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict is a value: a denial is an answer, not an exception."""

    verdict: Verdict
    clause: Clause
    mode: Mode | None = None
    """What the policy does with denied writes here; none where nothing was denied."""

    denial: Denial | None = None
    """Why the clause is against the write; none where it is not."""
    unavailable: bool = False
    """Whether it is denied because it cannot be recorded, not by the rules."""

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
