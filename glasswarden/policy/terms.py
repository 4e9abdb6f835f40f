"""Whether a grant is one that the rules give for a write: its terms, asked again at every use.

A policy may be tightened while a grant lives. And a grant on a Namespace was given by the rule for
the Namespace, while an object in it may have another that comes first.
"""

from datetime import datetime
from typing import Final

from glasswarden.duration import render_duration
from glasswarden.policy.breakglass.moment import moment
from glasswarden.policy.breakglass.rules import Rule
from glasswarden.policy.breakglass.stamp import Stamp
from glasswarden.policy.judgement import fault_in_words, rule_for
from glasswarden.policy.operation import GrantOperation, Operation
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write

_OPERATIONS: Final = {
    Operation.CREATE: GrantOperation.CREATE,
    Operation.UPDATE: GrantOperation.UPDATE,
    Operation.DELETE: GrantOperation.DELETE,
}


def operation_of(write: Write) -> GrantOperation:
    """Return what a grant has to allow for *write*."""
    if write.subresource == "scale":
        return GrantOperation.SCALE
    return _OPERATIONS.get(write.operation, GrantOperation.UPDATE)


def uncovered(rule: Rule, write: Write) -> str | None:
    """Return, as half a sentence, why no grant by *rule* ever covers *write*, if none does."""
    if rule.closes(write.target):
        return f"objects of kind {write.target.kind} stay closed even under a grant"
    operation, named = operation_of(write), rule.document.operations
    if operation not in named:
        return f"a grant covers {', '.join(named)}, and no {operation}"
    pattern = rule.closed_by(write.changes)
    return f"{pattern} stays closed even under a grant" if pattern else None


def broken_term(stamp: Stamp, write: Write, policy: Policy, now: datetime) -> str | None:
    """Return why the rule that gave *stamp* would not give it any more, or not for *write*."""
    rule = policy.glass_rule(stamp.rule)
    if rule is None:
        return f"the rule {stamp.rule!r} that gave the grant is not in the policy any more"
    if not rule.is_about(write.target, write.owner, write.labels):
        return f"the rule {rule.name!r} that gave the grant is not about this object"
    why = _tightened(rule, stamp, write, now) or uncovered(rule, write)
    return f"by rule {rule.name!r}, {why}" if why else None


def outranked(stamp: Stamp, write: Write, policy: Policy) -> str | None:
    """Return why the first rule for the object would not give what *stamp*, on its Namespace, does.

    The hour that counts is that of the grant's beginning, as for a grant on the object itself.
    """
    first = rule_for(write, policy, stamp.start)
    if first is None or first.name == stamp.rule:
        return None
    why = _stricter(first, stamp, write, policy) or uncovered(first, write)
    if why is None:
        return None
    return (
        f"by rule {first.name!r}, which comes first for this object, {why}: "
        "break the glass on the object itself"
    )


def _tightened(rule: Rule, stamp: Stamp, write: Write, now: datetime) -> str | None:
    if write.actor not in rule.people:
        return f"{write.actor.name} may not break the glass any more"
    if rule.outlives(stamp.start, now):
        longest, end = render_duration(rule.longest_ttl), moment(stamp.start + rule.longest_ttl)
        return f"a grant lives at most {longest}: this one ended at {end}"
    if rule.approvers is not None and not stamp.approver:
        return "a second person approves first: ask again"
    return _unshared(rule, stamp, write)


def _stricter(first: Rule, stamp: Stamp, write: Write, policy: Policy) -> str | None:
    own = policy.glass_rule(stamp.rule)
    approval = first.document.approval
    if not first.document.namespace_wide:
        return "a grant on a Namespace does not count"
    if approval is not None and (own is None or own.document.approval != approval):
        return "a second person approves first"
    if stamp.expires - stamp.start > first.longest_ttl:
        return f"a grant lives at most {render_duration(first.longest_ttl)}"
    return fault_in_words(first, write.glass.namespace) or _unshared(first, stamp, write)


def _unshared(rule: Rule, stamp: Stamp, write: Write) -> str | None:
    if write.actor.name == stamp.actor or rule.document.shared:
        return None
    return f"a grant is one person's: this one is {stamp.actor}'s"
