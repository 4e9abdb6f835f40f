"""Whether a grant lets a write pass: the operation, the place, and every field that changes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from glasswarden.policy.breakglass.held import fits, merged
from glasswarden.policy.breakglass.notes import Unreadable
from glasswarden.policy.breakglass.rules import Rule
from glasswarden.policy.breakglass.stamp import Flaw, Stamp, check
from glasswarden.policy.intent import live_grant
from glasswarden.policy.operation import GrantOperation, Operation
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write

_OPERATIONS: Final = {
    Operation.CREATE: GrantOperation.CREATE,
    Operation.UPDATE: GrantOperation.UPDATE,
    Operation.DELETE: GrantOperation.DELETE,
}


@dataclass(frozen=True, slots=True)
class Cover:
    """The grant that a write is made under."""

    stamp: Stamp
    namespaced: bool
    """Whether it stands on the object's Namespace."""


def cover_of(write: Write, policy: Policy, now: datetime) -> Cover | str:
    """Return the grant that *write* is made under, or why there is none."""
    reasons = []
    glass = write.glass
    for notes, namespaced in ((glass.before, False), (glass.namespace, True)):
        if isinstance(notes.grant, Unreadable):
            reasons.append(f"the stamp does not count: {notes.grant.why}")
        stamp = notes.counted()
        if stamp is None or stamp.namespace:
            continue
        cover = Cover(stamp, namespaced)
        why = objection(cover, write, policy, now)
        if why is None:
            return cover
        reasons.append(why)
    return "; ".join(reasons)


def objection(cover: Cover, write: Write, policy: Policy, now: datetime) -> str | None:
    """Return, as a sentence without its end, why *cover* does not cover *write*."""
    stamp, operation = cover.stamp, operation_of(write)
    found = check(
        stamp,
        cluster=policy.cluster,
        uid=write.glass.namespace_uid if cover.namespaced else write.target.uid,
        actor=write.actor,
        operation=operation,
        now=now,
    )
    if found is not None:
        return _in_words(found, stamp, operation)
    rule = policy.glass_rule(stamp.rule)
    if rule is None:
        return f"the rule {stamp.rule!r} that gave the grant is not in the policy any more"
    if not rule.is_about(write.target, write.owner, write.labels):
        return f"the rule {rule.name!r} that gave the grant is not about this object"
    return _closed(rule, write) or _too_much(stamp, write, live_grant(write, policy, now))


def operation_of(write: Write) -> GrantOperation:
    """Return what a grant has to allow for *write*."""
    if write.subresource == "scale":
        return GrantOperation.SCALE
    return _OPERATIONS.get(write.operation, GrantOperation.UPDATE)


def _closed(rule: Rule, write: Write) -> str | None:
    for change in write.changes:
        pattern = rule.closed_by(change)
        if pattern is not None:
            return f"by rule {rule.name!r}, {pattern} stays closed even under a grant"
    return None


def _too_much(stamp: Stamp, write: Write, live: Stamp | None) -> str | None:
    """Return why a grant that holds cannot remember what *write* changes, if it cannot."""
    if not stamp.hold or not write.changes:
        return None
    held = merged(write.target, live.held if live else (), write.changes)
    if fits(held):
        return None
    return (
        f"{len(held)} fields would have been changed under the grant, more than its stamp can "
        "remember: change fewer of them, or use a rule that does not hold"
    )


def _in_words(found: Flaw, stamp: Stamp, operation: GrantOperation) -> str:
    grant = f"the grant for {stamp.ticket}"
    match found:
        case Flaw.EXPIRED:
            return f"{grant} expired at {stamp.expires:%Y-%m-%d %H:%M:%S} UTC"
        case Flaw.OTHER_PERSON:
            return f"{grant} is {stamp.actor}'s"
        case Flaw.OTHER_OPERATION:
            return f"{grant} does not cover {operation}: rule {stamp.rule!r} does not name it"
        case _:
            return f"{grant} does not count: {found}"
