"""Why a write is decided as it is: every clause, with what it had to say."""

from dataclasses import dataclass
from datetime import datetime

from glasswarden.policy.decide import CLAUSES
from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.mode import Mode
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write


@dataclass(frozen=True, slots=True)
class Step:
    """One clause, and why it applies or does not."""

    clause: Clause
    applies: bool
    why: str
    asked: bool = True
    """Whether it was; not after one that decided."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with the way to it."""

    write: Write
    decision: Decision
    mode: Mode
    steps: tuple[Step, ...]
    """Every clause, in their order."""


def explain(write: Write, policy: Policy, now: datetime) -> Explanation:
    """Return the verdict on *write* with its reasons."""
    decision: Decision | None = None
    steps = []
    for clause, rule in CLAUSES.items():
        if decision is not None:
            why = f"not asked: {decision.clause} has decided"
            steps.append(Step(clause, applies=False, why=why, asked=False))
            continue
        outcome = rule(write, policy, now)
        if isinstance(outcome, Decision):
            decision = outcome
            steps.append(Step(clause, applies=True, why=_summary(rule.__doc__)))
        else:
            steps.append(Step(clause, applies=False, why=outcome))
    assert decision is not None  # noqa: S101 - the last clause applies to every write
    return Explanation(write, decision, policy.mode_of(write), tuple(steps))


def _summary(docstring: str | None) -> str:
    """Return the rule's own sentence about itself."""
    return (docstring or "").partition("\n")[0].rstrip(".")
