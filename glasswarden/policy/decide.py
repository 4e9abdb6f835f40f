"""The verdict: a list of clauses, read from the top; the first that applies decides."""

from collections.abc import Callable

from glasswarden.kube.owners import Owner
from glasswarden.policy.decision import Clause, Decision, Verdict
from glasswarden.policy.denial import denial, warning
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Operation, Write


def decide(write: Write, policy: Policy) -> Decision:
    """Return the verdict on *write*."""
    if write.owner is None:
        return Decision(Verdict.ALLOW, Clause.UNMANAGED)
    for clause in CLAUSES:
        decision = clause(write, write.owner, policy)
        if decision is not None:
            return decision
    return guard(write, write.owner)


def noise(write: Write, _owner: Owner, _policy: Policy) -> Decision | None:
    """Allow an update that changes nothing which anybody decides about."""
    if write.operation is Operation.UPDATE and not write.changes:
        return Decision(Verdict.ALLOW, Clause.NOISE)
    return None


def controller(write: Write, owner: Owner, policy: Policy) -> Decision | None:
    """Allow what the owner's own reconciler writes."""
    if policy.trusts(write.actor, owner):
        return Decision(Verdict.ALLOW, Clause.CONTROLLER)
    return None


def guard(write: Write, owner: Owner) -> Decision:
    """Refuse what no clause allowed; a dry run is told what would happen, and is not refused."""
    if write.dry_run:
        return Decision(Verdict.ALLOW, Clause.GUARD, warnings=warning(write, owner))
    return Decision(Verdict.DENY, Clause.GUARD, denial(write, owner))


CLAUSES: tuple[Callable[[Write, Owner, Policy], Decision | None], ...] = (noise, controller)
