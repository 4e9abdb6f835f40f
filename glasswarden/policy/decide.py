"""The verdict: a list of clauses, read from the top; the first that applies decides.

Each clause is a function that returns a decision or, as text, why it does not apply. Decisions hold
their reasons as data and no text for anybody: `messages` renders that. `explain` runs the same
clauses and keeps what each of them answered.

Also here: which operations a policy may call benign, recognised by exactly what they change; and
which fields of a reconciler's own object steer it. People write to an Application or a
Kustomization all day to ask for a refresh or a sync. That changes nothing about what Git says or
whether it is obeyed; its spec, its finalizers, some switches, and a sync to something other than it
follows do.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from glasswarden.kube.diff import Change, are_covered
from glasswarden.kube.engines.registry import SWITCHES
from glasswarden.kube.paths import Key, Path
from glasswarden.kube.patterns import PathPattern, parse_pattern
from glasswarden.policy.breakglass.tokens import GrantUse, is_grantee
from glasswarden.policy.case import Case, is_by_reconciler, is_guarded, mode_of
from glasswarden.policy.decision import (
    BreakGlassOption,
    Clause,
    Decision,
    Denial,
    MayRequest,
    NotCovered,
    OthersMay,
    OutsideHours,
    Verdict,
)
from glasswarden.policy.document import Benign, WithoutRecord
from glasswarden.policy.grants import changes_grant, forgery_of, grant_use
from glasswarden.policy.holds import deletion_hold
from glasswarden.policy.matching import touched_metadata
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import (
    Intent,
    find_exclusion,
    intent_of,
    live_grant,
    namespace_grant,
    rule_of,
    rule_outside_hours,
    rules_about,
)
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
    if _changes_only(write, _RESTART):
        return Benign.ROLLOUT_RESTART
    if _changes_only(write, _PAUSED):
        return Benign.ROLLOUT_PAUSE
    if _is_by_undo(write) and _changes_only(write, _TEMPLATE):
        return Benign.ROLLOUT_UNDO
    return None


def _is_by_undo(write: Write) -> bool:
    return (
        not write.subresource
        and write.manager == _UNDO[0]
        and all((change.manager, change.operation) == _UNDO for change in write.changes)
    )


def _changes_only(write: Write, pattern: PathPattern) -> bool:
    """Return whether *write* changes something, and nothing but what *pattern* is about."""
    return bool(write.changes) and are_covered(write.changes, (pattern,))


def steers(write: Write, change: Change) -> bool:
    """Return whether the engine would do something else after *change*, one of *write*'s."""
    match change.path.steps:
        case (Key("spec"), *_) | (Key("metadata"), Key("finalizers"), *_):
            return True
        case (Key("operation"), *_):
            return write.diverts
    return any(name in SWITCHES for _, name in touched_metadata(change))


NotApplicable: TypeAlias = str
"""Why a clause does not decide."""

ClauseFunction: TypeAlias = Callable[[Case], Decision | NotApplicable]


def decide(case: Case) -> Decision:
    """Return the verdict on the write of *case*."""
    for apply in CLAUSES.values():
        outcome = apply(case)
        if isinstance(outcome, Decision):
            return outcome
    raise AssertionError("the last clause applies to every write")


def allow_unmanaged(case: Case) -> Decision | NotApplicable:
    """Allow what GitOps has nothing to do with."""
    owner = case.write.owner
    if owner is not None:
        return f"it is managed by {owner.engine}"
    if is_guarded(case):
        return "its namespace is reserved for GitOps"
    if changes_grant(case):
        return "it has to do with break-glass"
    return Decision(Verdict.ALLOW, Clause.UNMANAGED)


def allow_noise(case: Case) -> Decision | NotApplicable:
    """Allow an update that changes nothing which anybody decides about."""
    write = case.write
    if write.operation is not Operation.UPDATE:
        return "it is no update"
    if any(not write.steers or _matters(write, change, case.policy) for change in write.changes):
        return "it changes something that matters"
    if changes_grant(case):
        return "it has to do with break-glass"
    return Decision(Verdict.ALLOW, Clause.NOISE)


def _matters(write: Write, change: Change, policy: Policy) -> bool:
    """Return whether *change* of an engine's own object is to be decided about."""
    return steers(write, change) or policy.is_mark(change)


def allow_finalizing(case: Case) -> Decision | NotApplicable:
    """Allow what is being deleted: its finalizers are removed by whoever set them."""
    write = case.write
    if not write.terminating:
        return "the object is not being deleted"
    if changes_grant(case):
        return "it has to do with break-glass"
    if write.operation is Operation.DELETE:
        return Decision(Verdict.ALLOW, Clause.FINALIZING)
    if not all(_is_finalizer(change.path) for change in write.changes):
        return "more than finalizers change"
    return Decision(Verdict.ALLOW, Clause.FINALIZING)


def allow_emergency(case: Case) -> Decision | NotApplicable:
    """Allow the group that must get in when the guard itself is the incident.

    The API server does not even ask about it, unless the webhook's registration is out of date.
    """
    if case.policy.document.emergency_group not in case.write.actor.groups:
        return "the writer is not in the emergency group"
    return Decision(Verdict.ALLOW, Clause.EMERGENCY)


def deny_held(case: Case) -> Decision | NotApplicable:
    """Deny that the owner's reconciler deletes what somebody mends under a grant.

    What else it writes is rewritten, not denied: see `holds`.
    """
    if case.write.operation is not Operation.DELETE:
        return "it is no deletion"
    if not is_by_reconciler(case):
        return "the writer is no trusted controller of that owner"
    if deletion_hold(case) is None:
        return "no hold is in force on it"
    return _deny(case, Clause.HELD, _denial_by_hold)


def allow_controller(case: Case) -> Decision | NotApplicable:
    """Allow what the owner's own reconciler writes, and in a reserved namespace any reconciler.

    Engines leave things there that they do not mark: helm-controller the Secret of a release.
    """
    write, policy = case.write, case.policy
    unmarked = write.owner is None and policy.is_reserved(write)
    if not (policy.reconciles(write.actor) if unmarked else is_by_reconciler(case)):
        return "the writer is no trusted controller of that owner"
    return Decision(Verdict.ALLOW, Clause.CONTROLLER)


def allow_delegated(case: Case) -> Decision | NotApplicable:
    """Allow a write to fields that the policy gave to somebody else."""
    delegate = case.policy.delegate_of(case.write)
    if delegate is None or changes_grant(case):
        return "no delegation covers this writer and every changed field"
    return Decision(Verdict.ALLOW, Clause.DELEGATED, delegate=delegate.name)


def deny_marks(case: Case) -> Decision | NotApplicable:
    """Deny what would change whose object it is, break-glass or not, and forged stamps."""
    forgery, write, policy = forgery_of(case), case.write, case.policy
    if forgery is not None:
        return _deny_forgery(case, forgery)
    if write.operation is Operation.CREATE and write.owner is not None and not write.steers:
        pass  # an object that claims an owner which did not make it
    elif not any(policy.is_mark(change) for change in write.changes):
        return "no ownership mark changes"
    if policy.may_detach(write.actor):
        return "the policy lets the writer change ownership marks"
    return _deny(case, Clause.MARKS, _denial_of_marks)


def allow_benign(case: Case) -> Decision | NotApplicable:
    """Allow an operation that the policy calls harmless."""
    if changes_grant(case):
        return "it has to do with break-glass"
    operation = benign_operation(case.write)
    if operation is None:
        return "it is no operation that could be harmless"
    if operation not in case.policy.document.benign:
        return f"the policy does not call {operation} harmless"
    return Decision(Verdict.ALLOW, Clause.BENIGN)


def allow_breakglass(case: Case) -> Decision | NotApplicable:
    """Allow what a grant covers, and what asks for, approves or ends one by the rules."""
    use = grant_use(case)
    if isinstance(use, str):
        return use or "nobody has broken the glass here"
    return Decision(Verdict.ALLOW, Clause.BREAKGLASS, grant=use)


def apply_guard(case: Case) -> Decision:
    """Deny what no clause allowed."""
    return _deny(case, Clause.GUARD, _denial_by_guard)


def _deny_forgery(case: Case, forgery: str) -> Decision:
    """Return the denial of a forged stamp, in every mode: stored, it would allow other writes."""
    verdict = Verdict.ALLOW if case.write.dry_run else Verdict.DENY
    return Decision(verdict, Clause.MARKS, Mode.ENFORCE, Denial(forgery=forgery))


def _deny(case: Case, clause: Clause, denial_of: Callable[[Case], Denial]) -> Decision:
    """Return what the mode makes of a denial; a dry run is answered with it, and never denied.

    Who wants something of break-glass is denied in every mode, as a forger is: a reason that was
    stored all the same would count later, beside a stamp.
    """
    wants = intent_of(case) is not Intent.NOTHING
    mode, dry_run = Mode.ENFORCE if wants else mode_of(case), case.write.dry_run
    if mode is Mode.AUDIT and not dry_run:
        return Decision(Verdict.ALLOW, clause, mode)
    verdict = Verdict.DENY if mode is Mode.ENFORCE and not dry_run else Verdict.ALLOW
    return Decision(verdict, clause, mode, denial_of(case))


def _denial_by_hold(case: Case) -> Denial:
    return Denial(hold=deletion_hold(case))


def _denial_of_marks(_case: Case) -> Denial:
    return Denial()


def _denial_by_guard(case: Case) -> Denial:
    """Return why no grant allows the write, and what else break-glass offers the writer."""
    use = grant_use(case)
    no_grant = "" if isinstance(use, GrantUse) else use
    return Denial(no_grant=no_grant, option=_option_of(case, no_grant))


def _option_of(case: Case, no_grant: str) -> BreakGlassOption | None:
    intent, rule = intent_of(case), rule_of(case)
    if intent not in {Intent.NOTHING, Intent.ASK}:
        return None
    if rule is None:
        later = rule_outside_hours(case)
        if later is None:
            return OthersMay(rules_about(case))
        return None if no_grant else OutsideHours(later)
    if no_grant and (intent is Intent.ASK or _has_grant(case)):
        return None  # they know how: they have just asked, or have a grant that is not for this
    exclusion = find_exclusion(rule, case.write)
    return MayRequest(rule) if exclusion is None else NotCovered(rule, exclusion)


def _has_grant(case: Case) -> bool:
    live = live_grant(case) or namespace_grant(case)
    return live is not None and is_grantee(live, case.write.actor)


def _is_finalizer(path: Path) -> bool:
    return path.steps[:2] == (Key("metadata"), Key("finalizers"))


CLAUSES: Final[dict[Clause, ClauseFunction]] = {
    Clause.UNMANAGED: allow_unmanaged,
    Clause.NOISE: allow_noise,
    Clause.FINALIZING: allow_finalizing,
    Clause.EMERGENCY: allow_emergency,
    Clause.HELD: deny_held,
    Clause.CONTROLLER: allow_controller,
    Clause.DELEGATED: allow_delegated,
    Clause.MARKS: deny_marks,
    Clause.BENIGN: allow_benign,
    Clause.BREAKGLASS: allow_breakglass,
    Clause.GUARD: apply_guard,
}
"""In the order they are asked."""


def decide_unrecorded(decision: Decision, case: Case) -> Decision:
    """Return what is answered in place of *decision*, which could not be recorded.

    What the rules deny stays denied. The emergency group is allowed: it exists for the day on which
    nothing else works.
    """
    if not decision.allowed or decision.clause is Clause.EMERGENCY:
        return decision
    mode = decision.mode or mode_of(case)
    if _rule_without_record(case.policy, mode) is WithoutRecord.ALLOW:
        return decision
    return replace(decision, verdict=Verdict.DENY, mode=mode, unavailable=True)


def _rule_without_record(policy: Policy, mode: Mode) -> WithoutRecord:
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

    case: Case
    decision: Decision
    mode: Mode
    """What the policy does with denied writes to the object."""
    steps: tuple[Step, ...]
    """Every clause, in their order."""


def explain(case: Case) -> Explanation:
    """Return the verdict on the write of *case* with its reasons."""
    decision: Decision | None = None
    steps = []
    for clause, apply in CLAUSES.items():
        if decision is not None:
            why = f"not asked: {decision.clause} has decided"
            steps.append(Step(clause, applies=False, why=why, asked=False))
            continue
        outcome = apply(case)
        if isinstance(outcome, Decision):
            decision = outcome
            steps.append(Step(clause, applies=True, why=_summary(apply.__doc__)))
        else:
            steps.append(Step(clause, applies=False, why=outcome))
    assert decision is not None  # noqa: S101 - the last clause applies to every write
    return Explanation(case, decision, mode_of(case), tuple(steps))


def _summary(docstring: str | None) -> str:
    """Return the clause's own sentence about itself."""
    return (docstring or "").partition("\n")[0].rstrip(".")
