"""The verdict: a list of clauses, read from the top; the first that applies decides.

Each clause is a function that returns a decision or, as text, why it does not apply. Only the
explanation that people ask for reads those texts.

Operations that a policy may call harmless, recognised by exactly what they change.

Which fields of a reconciler's own object steer it, and which merely poke it.

An Application or a Kustomization is written to all day by people who ask for a refresh or a sync.
That changes nothing about what Git says or whether it is obeyed; its spec and some switches do, its
finalizers (which say what goes with it), and a sync to something else than it follows.

What becomes of a write while nothing can be recorded.

Why a write is decided as it is: every clause, with what it had to say.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from glasswarden.kube.diff import Change, are_covered
from glasswarden.kube.engines.registry import SWITCHES
from glasswarden.kube.paths import Key, Path
from glasswarden.kube.patterns import PathPattern, parse_pattern
from glasswarden.policy.decision import Clause, Decision, Verdict
from glasswarden.policy.document import Benign, WithoutRecord
from glasswarden.policy.grants import grant_use, tampering, touches_glass
from glasswarden.policy.holds import deletion_hold, reconciles
from glasswarden.policy.matching import touched_metadata
from glasswarden.policy.messages import claim_of, denial, forgery_told, hitch_of, receipt, warning
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import Intent, intent_of
from glasswarden.policy.types import Mode, Operation
from glasswarden.policy.write import Write

_RESTART: Final = parse_pattern(
    "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt"
)
_PAUSED: Final = parse_pattern("/spec/paused")
_TEMPLATE: Final = parse_pattern("/spec/template/**")

# `kubectl rollout undo` names no field manager, so the API server takes the program's name. That is
# also what `kubectl apply --server-side` calls itself, but it applies.
_UNDO: Final = ("kubectl", "Update")


def benign_operation(write: Write) -> Benign | None:
    """Return which of the harmless operations *write* is, if it is one."""
    if write.operation is not Operation.UPDATE or write.target.group != "apps":
        return None
    if _only(write, _RESTART):
        return Benign.ROLLOUT_RESTART
    if _only(write, _PAUSED):
        return Benign.ROLLOUT_PAUSE
    if _is_by_undo(write) and _only(write, _TEMPLATE):
        return Benign.ROLLOUT_UNDO
    return None


def _is_by_undo(write: Write) -> bool:
    return (
        not write.subresource
        and write.manager == _UNDO[0]
        and all((change.manager, change.operation) == _UNDO for change in write.changes)
    )


def _only(write: Write, pattern: PathPattern) -> bool:
    """Tell whether *write* changes something, and nothing but what *pattern* speaks about."""
    return bool(write.changes) and are_covered(write.changes, (pattern,))


def steers(write: Write, change: Change) -> bool:
    """Tell whether the engine would do something else after *change*, one of *write*'s."""
    match change.path.steps:
        case (Key("spec"), *_) | (Key("metadata"), Key("finalizers"), *_):
            return True
        case (Key("operation"), *_):
            return write.diverts
    return any(name in SWITCHES for _, name in touched_metadata(change))


NotApplicable: TypeAlias = str
"""Why a clause does not decide."""

Rule: TypeAlias = Callable[[Write, Policy, datetime], Decision | NotApplicable]


def decide(write: Write, policy: Policy, now: datetime) -> Decision:
    """Return the verdict on *write*."""
    for rule in CLAUSES.values():
        outcome = rule(write, policy, now)
        if isinstance(outcome, Decision):
            return outcome
    raise AssertionError("the last clause applies to every write")


def unmanaged(write: Write, policy: Policy, now: datetime) -> Decision | NotApplicable:
    """Allow what GitOps has nothing to do with."""
    if write.owner is not None:
        return f"it is managed by {write.owner.engine}"
    if policy.guards(write):
        return "its namespace is reserved for GitOps"
    if touches_glass(write, policy, now):
        return "it has to do with break-glass"
    return Decision(Verdict.ALLOW, Clause.UNMANAGED)


def noise(write: Write, policy: Policy, now: datetime) -> Decision | NotApplicable:
    """Allow an update that changes nothing which anybody decides about."""
    if write.operation is not Operation.UPDATE:
        return "it is no update"
    if any(not write.steers or _steers(write, change, policy) for change in write.changes):
        return "it changes something that matters"
    if touches_glass(write, policy, now):
        return "it has to do with break-glass"
    return Decision(Verdict.ALLOW, Clause.NOISE)


def _steers(write: Write, change: Change, policy: Policy) -> bool:
    """Tell whether *change* of an engine's own object is anybody's business."""
    return steers(write, change) or policy.is_mark(change)


def finalizing(write: Write, policy: Policy, now: datetime) -> Decision | NotApplicable:
    """Allow an object that is going to go: its finalizers are taken off by whoever set them."""
    if not write.terminating:
        return "the object is not being deleted"
    if touches_glass(write, policy, now):
        return "it has to do with break-glass"
    if write.operation is Operation.DELETE:
        return Decision(Verdict.ALLOW, Clause.FINALIZING)
    if not all(_is_finalizer(change.path) for change in write.changes):
        return "more than finalizers change"
    return Decision(Verdict.ALLOW, Clause.FINALIZING)


def emergency(write: Write, policy: Policy, _now: datetime) -> Decision | NotApplicable:
    """Allow the group that must get in when the guard itself is the incident.

    The API server does not even ask about it, unless the webhook's registration is out of date.
    """
    if policy.document.emergency_group not in write.actor.groups:
        return "the writer is not in the emergency group"
    return Decision(Verdict.ALLOW, Clause.EMERGENCY)


def held(write: Write, policy: Policy, now: datetime) -> Decision | NotApplicable:
    """Refuse that the owner's reconciler deletes what somebody mends under a grant.

    What else it writes is rewritten, not refused: see `holding`.
    """
    if write.operation is not Operation.DELETE:
        return "it is no deletion"
    if not reconciles(write, policy):
        return "the writer is no trusted controller of that owner"
    if deletion_hold(write, policy, now) is None:
        return "no hold is in force on it"
    return _refused(write, policy, Clause.HELD, now)


def controller(write: Write, policy: Policy, _now: datetime) -> Decision | NotApplicable:
    """Allow what the owner's own reconciler writes, and in a reserved namespace any reconciler.

    Engines leave things there that they do not mark: helm-controller the Secret of a release.
    """
    unmarked = write.owner is None and policy.is_reserved(write)
    if not (policy.reconciles(write.actor) if unmarked else reconciles(write, policy)):
        return "the writer is no trusted controller of that owner"
    return Decision(Verdict.ALLOW, Clause.CONTROLLER)


def delegated(write: Write, policy: Policy, now: datetime) -> Decision | NotApplicable:
    """Allow a write to fields that the policy gave to somebody else."""
    delegate = policy.delegate_of(write)
    if delegate is None or touches_glass(write, policy, now):
        return "no delegation covers this writer and every changed field"
    return Decision(Verdict.ALLOW, Clause.DELEGATED, delegate=delegate.name)


def marks(write: Write, policy: Policy, now: datetime) -> Decision | NotApplicable:
    """Refuse what would change whose object it is, break-glass or not, and forged stamps."""
    forgery = tampering(write, policy, now)
    if forgery is not None:
        return _forged(write, forgery)
    if write.operation is Operation.CREATE and write.owner is not None and not write.steers:
        pass  # an object that claims an owner which did not make it
    elif not any(policy.is_mark(change) for change in write.changes):
        return "no ownership mark changes"
    if policy.may_detach(write.actor):
        return "the policy lets the writer change ownership marks"
    return _refused(write, policy, Clause.MARKS, now)


def benign(write: Write, policy: Policy, now: datetime) -> Decision | NotApplicable:
    """Allow an operation that the policy calls harmless."""
    if touches_glass(write, policy, now):
        return "it has to do with break-glass"
    operation = benign_operation(write)
    if operation is None:
        return "it is no operation that could be harmless"
    if operation not in policy.document.benign:
        return f"the policy does not call {operation} harmless"
    return Decision(Verdict.ALLOW, Clause.BENIGN)


def breakglass(write: Write, policy: Policy, now: datetime) -> Decision | NotApplicable:
    """Allow what a grant covers, and what asks for, approves or ends one by the rules."""
    use = grant_use(write, policy, now)
    if isinstance(use, str):
        return use or "nobody has broken the glass here"
    warnings = receipt(use, write, policy)
    return Decision(Verdict.ALLOW, Clause.BREAKGLASS, warnings=warnings, grant=use)


def guard(write: Write, policy: Policy, now: datetime) -> Decision:
    """Refuse what no clause allowed."""
    return _refused(write, policy, Clause.GUARD, now)


def _forged(write: Write, why: str) -> Decision:
    """Return the refusal of a forged stamp, in every mode: stored, it would open other doors."""
    text = forgery_told(write, why)
    if write.dry_run:
        return Decision(Verdict.ALLOW, Clause.MARKS, Mode.ENFORCE, warnings=(text,))
    return Decision(Verdict.DENY, Clause.MARKS, Mode.ENFORCE, text, claim=text)


def _refused(write: Write, policy: Policy, clause: Clause, now: datetime) -> Decision:
    """Return what the mode makes of a refusal; a dry run is told, and never refused.

    Who wants something of break-glass is refused in every mode, as a forger is: a reason that
    was stored all the same would count later, beside a stamp.
    """
    wants = intent_of(write, policy, now) is not Intent.NOTHING
    mode = Mode.ENFORCE if wants else policy.mode_of(write)
    if mode is Mode.AUDIT and not write.dry_run:
        return Decision(Verdict.ALLOW, clause, mode)
    if mode is Mode.ENFORCE and not write.dry_run:
        text, claim = denial(write, policy, clause, now), claim_of(write, policy, clause, now)
        hitch = hitch_of(write, policy, clause, now)
        return Decision(Verdict.DENY, clause, mode, text, claim, hitch)
    warnings = warning(write, policy, clause, mode, now)
    return Decision(Verdict.ALLOW, clause, mode, warnings=warnings)


def _is_finalizer(path: Path) -> bool:
    return path.steps[:2] == (Key("metadata"), Key("finalizers"))


CLAUSES: Final[dict[Clause, Rule]] = {
    Clause.UNMANAGED: unmanaged,
    Clause.NOISE: noise,
    Clause.FINALIZING: finalizing,
    Clause.EMERGENCY: emergency,
    Clause.HELD: held,
    Clause.CONTROLLER: controller,
    Clause.DELEGATED: delegated,
    Clause.MARKS: marks,
    Clause.BENIGN: benign,
    Clause.BREAKGLASS: breakglass,
    Clause.GUARD: guard,
}
"""In the order they are asked."""


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
