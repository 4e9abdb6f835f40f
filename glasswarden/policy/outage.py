"""What becomes of a write while nothing can be recorded."""

from dataclasses import replace
from typing import Final

from glasswarden.policy.decision import Clause, Decision, Verdict
from glasswarden.policy.document import WithoutRecord
from glasswarden.policy.mode import Mode
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write

_CAUSE: Final = "the ledger is out of reach, and its spool is full, unwritable or not set up"


def without_record(decision: Decision, write: Write, policy: Policy) -> Decision:
    """Return what is answered in place of *decision*, which could not be recorded.

    What the rules refuse stays refused. The emergency group gets in: it exists for the day on which
    nothing else works.
    """
    if not decision.allowed or decision.clause is Clause.EMERGENCY:
        return decision
    mode = decision.mode or policy.mode_of(write)
    if _rule(policy, mode) is WithoutRecord.ALLOW:
        return decision
    claim = (
        f"{write.target}: this write cannot be recorded now, and the policy lets none through"
        f" unrecorded in mode {mode}; it is refused."
    )
    cause = f"Cause: {_CAUSE}."
    hint = "Try again later; whoever runs Glasswarden finds the reason in its log."
    return replace(
        decision,
        verdict=Verdict.DENY,
        mode=mode,
        message=f"{claim}\n{cause}\n{hint}",
        claim=claim,
        hitch=cause,
        warnings=(),
        unavailable=True,
    )


def _rule(policy: Policy, mode: Mode) -> WithoutRecord:
    rule: WithoutRecord = getattr(policy.document.outage, mode)
    return rule
