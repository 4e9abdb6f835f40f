"""Requests for break-glass: what a write asks for, and what the rules answer.

The writer's intent is read from the annotations before and after the write. The rules then grant
it, have a second person approve it first, or do not grant it, with the reason as a sentence without
its end. The same rules are checked again whenever a grant is used: a policy may be tightened while
a grant lives, and an object may have a stricter rule than the Namespace that the grant is on.

A grant may be ended, and its outcome stated, by those who could have one, at any hour: the end of a
grant lets the reconciler revert a fix, but must never wait for office hours. Nothing here decides
about the write itself or signs anything.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias

import msgspec

from glasswarden.duration import DurationError, parse_positive_duration, render_duration
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import Glass, Notes, render_time
from glasswarden.policy.breakglass.rules import Rule, describe_people, is_namespace
from glasswarden.policy.breakglass.tokens import (
    GrantRequest,
    Stamp,
    digest_of,
    find_flaw,
    is_grantee,
)
from glasswarden.policy.case import Case, is_guarded, once_per_case
from glasswarden.policy.types import Actor, GrantOperation, Operation
from glasswarden.policy.write import Write


class Intent(Enum):
    """What the writer wants."""

    NOTHING = "nothing"
    ASK = "ask"
    """A grant, or another time, ticket or reason for the one there is."""
    APPROVE = "approve"
    CLOSE = "close"
    """To end the grant, or to withdraw the request."""
    SETTLE = "settle"
    """To state what became of the changes under a grant that is over."""


@once_per_case
def intent_of(case: Case) -> Intent:
    """Return what the writer wants of break-glass."""
    glass = case.write.glass
    before, after = glass.before, glass.after
    if before.texts == after.texts:
        return Intent.NOTHING
    if not is_guarded(case) and not is_namespace(case.write.target):
        return Intent.NOTHING  # there is no glass to break
    if after.get(names.APPROVE) not in (None, before.get(names.APPROVE)):
        return Intent.APPROVE
    live = live_grant(case)
    is_open = live is not None or waiting_request(case) is not None
    if names.REASON in after.texts:
        if _differs(glass) or (live is None and _is_renewed(glass)):
            return Intent.ASK
    elif names.REASON in before.texts and is_open:
        return Intent.CLOSE
    settles = after.get(names.OUTCOME) not in (None, before.get(names.OUTCOME))
    return Intent.SETTLE if settles and not is_open else Intent.NOTHING


@once_per_case
def live_grant(case: Case) -> Stamp | None:
    """Return the grant that is in force on the object, before this write.

    A stamp that follows from the Namespace's grant ends with that, and is extended with it.
    """
    glass, cluster, uid = case.write.glass, case.policy.cluster, case.write.target.uid
    stamp = glass.before.valid_stamp()
    if stamp is None or not stamp.namespace or glass.namespace_unknown:
        return _still_given(glass.before.live_grant(cluster, uid, case.now), case)
    around = namespace_grant(case)
    if around is None or around.id != stamp.id:
        return None
    extended = msgspec.structs.replace(stamp, expires=around.expires)
    return None if find_flaw(extended, cluster, uid, case.now) else extended


@once_per_case
def namespace_grant(case: Case) -> Stamp | None:
    """Return the grant that is in force on the Namespace that the object is in."""
    glass = case.write.glass
    live = glass.namespace.live_grant(case.policy.cluster, glass.namespace_uid, case.now)
    return _still_given(live, case)


def _still_given(stamp: Stamp | None, case: Case) -> Stamp | None:
    """Return *stamp* unless its rule has left the policy, or gives that much time no longer."""
    rule = case.policy.glass_rule(stamp.rule) if stamp is not None else None
    if stamp is None or rule is None or rule.outlives(stamp.start, case.now):
        return None
    return stamp


def ended_grant(case: Case) -> Stamp | None:
    """Return the stamp of a grant that is over, where it is still on the object.

    To be asked where none is in force.
    """
    before = case.write.glass.before
    stamp = before.grant
    if not isinstance(stamp, Stamp) or stamp.trial or names.GRANT in before.declared:
        return None
    here = (stamp.cluster, stamp.uid) == (case.policy.cluster, case.write.target.uid)
    return stamp if here else None


@once_per_case
def waiting_request(case: Case) -> GrantRequest | None:
    """Return the request that waits on the object, before this write."""
    before = case.write.glass.before
    return before.waiting_request(case.policy.cluster, case.write.target.uid, case.now)


def _differs(glass: Glass) -> bool:
    return any(glass.before.get(name) != glass.after.get(name) for name in names.ASKED)


def _is_renewed(glass: Glass) -> bool:
    """Return whether a grant that is over was removed, or replaced, while its reason stays."""
    old = glass.before.get(names.GRANT)
    return old is not None and old != glass.after.get(names.GRANT)


# Both are kept in records for years, and the ticket meets a regular expression of the policy's.
LONGEST_REASON: Final = 1000
LONGEST_TICKET: Final = 100


@dataclass(frozen=True, slots=True)
class Granted:
    """The rules give what was asked for."""

    rule: Rule
    ttl: timedelta
    start: datetime
    extends: Stamp | None = None
    """The grant that goes on, where the writer has one already."""
    request: GrantRequest | None = None
    """The request that was approved, where one was."""

    @property
    def expires(self) -> datetime:
        """When it ends."""
        return self.start + self.ttl


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """The rules want a second person to agree first."""

    rule: Rule
    ttl: timedelta


@dataclass(frozen=True, slots=True)
class NotGranted:
    """The rules do not give it; the reason names what would pass."""

    reason: str


Judgement: TypeAlias = Granted | NeedsApproval | NotGranted


@once_per_case
def rule_of(case: Case) -> Rule | None:
    """Return the rule by which the writer may use break-glass here, the first that fits."""
    return _first_rule(case, case.now)


def _first_rule(case: Case, when: datetime) -> Rule | None:
    return next((rule for rule in rules_about(case) if rule.is_for(case.write.actor, when)), None)


@once_per_case
def rules_about(case: Case) -> tuple[Rule, ...]:
    """Return the rules by which somebody may have a grant on the object, in their order."""
    write = case.write
    return tuple(
        rule for rule in case.policy.glass if rule.is_about(write.target, write.owner, write.labels)
    )


@once_per_case
def rule_outside_hours(case: Case) -> Rule | None:
    """Return the rule by which the writer, who may not ask now, may at other hours."""
    actor = case.write.actor
    rules = (rule for rule in rules_about(case) if rule.hours is not None and actor in rule.people)
    return next(rules, None)


def describe_hours(rule: Rule, actor: Actor) -> str:
    """Return, as a sentence without its end, when *actor* may use break-glass by *rule*."""
    return f"by rule {rule.name!r}, {actor.name} may break the glass {rule.hours}"


@once_per_case
def judge_request(case: Case) -> Judgement:
    """Return what the rules answer to the request that the write makes."""
    write, rule = case.write, rule_of(case)
    if rule is None:
        later = rule_outside_hours(case)
        if later is not None:
            return NotGranted(describe_hours(later, write.actor))
        return NotGranted(f"no rule lets {write.actor.name} break the glass here")
    if rule.closes(write.target):
        kind = write.target.kind
        return NotGranted(f"by rule {rule.name!r}, objects of kind {kind} stay closed")
    wrong = find_fault(rule, write.glass.after)
    if wrong is not None:
        return NotGranted(f"by rule {rule.name!r}, {wrong}")
    try:
        ttl = _ttl(rule, write.glass.after.get(names.TTL))
    except DurationError as error:
        return NotGranted(f"by rule {rule.name!r}, {error}")
    return _judge_terms(rule, ttl, case)


def _judge_terms(rule: Rule, ttl: timedelta, case: Case) -> Judgement:
    own, live, now = _own_grant(case), live_grant(case), case.now
    if live is not None and own is None and not live.namespace and _has_same_reason(case.write):
        return NotGranted(
            f"by rule {rule.name!r}, who takes a grant over gives a reason of their own: "
            f"this one is {live.actor}'s"
        )
    start = own.start if own else now.replace(microsecond=0)
    if start + ttl <= now:
        least, most = render_duration(now - start), render_duration(rule.longest_ttl)
        return NotGranted(
            f"by rule {rule.name!r}, a ttl of {render_duration(ttl)} is over: it counts from "
            f"{start:%H:%M:%S} UTC, the start; more than {least}, at most {most} passes"
        )
    too_many = None if own else _find_limit(rule, case.write)
    if too_many is not None:
        return NotGranted(too_many)
    if rule.approvers is None:
        return Granted(rule, ttl, start, own)
    if case.write.changes:
        return NotGranted(
            f"by rule {rule.name!r}, a second person approves first: "
            "set the annotations alone, and change the rest when it is approved"
        )
    return NeedsApproval(rule, ttl)


def find_fault(rule: Rule, notes: Notes) -> str | None:
    """Return what *rule* finds wrong with the reason or the ticket in *notes*."""
    needed = rule.document.reason_length
    reason, ticket = notes.get(names.REASON) or "", notes.get(names.TICKET)
    if len(reason.strip()) < needed:
        return f"a reason has at least {needed} characters"
    if len(reason) > LONGEST_REASON:
        return f"a reason has at most {LONGEST_REASON} characters"
    if ticket is None:
        return f"a ticket is needed: annotate with {names.TICKET}"
    if len(ticket) > LONGEST_TICKET:
        return f"a ticket has at most {LONGEST_TICKET} characters"
    if not rule.ticket.fullmatch(ticket):
        return f"the ticket {ticket!r} does not match {rule.ticket.pattern}"
    return None


def _ttl(rule: Rule, text: str | None) -> timedelta:
    ttl = rule.default_ttl if text is None else parse_positive_duration(text)
    if ttl > rule.longest_ttl:
        longest = render_duration(rule.longest_ttl)
        raise DurationError(f"a grant lives at most {longest}, extensions included")
    return ttl


def _own_grant(case: Case) -> Stamp | None:
    """Return the writer's own grant on the object: a request then changes it, and begins none."""
    live, actor = live_grant(case), case.write.actor
    if live is None or live.namespace or live.actor != actor.name:
        return None
    return live if is_grantee(live, actor) else None


def _has_same_reason(write: Write) -> bool:
    return write.glass.before.get(names.REASON) == write.glass.after.get(names.REASON)


def _find_limit(rule: Rule, write: Write) -> str | None:
    """Return which limit on open grants a new one would exceed, if it would exceed one."""
    most, open_ = rule.document.most_open, write.glass.open
    if most.person is not None and open_.person >= most.person:
        who = f"one person has at most {most.person} grants open at once: close one first"
        return f"by rule {rule.name!r}, {who}"
    if most.namespace is not None and open_.namespace >= most.namespace:
        where = f"a namespace has at most {most.namespace} grants open at once: close one first"
        return f"by rule {rule.name!r}, {where}"
    return None


@once_per_case
def judge_approval(case: Case) -> Granted | NotGranted:
    """Return what the rules answer to a writer who approves."""
    request, write = waiting_request(case), case.write
    notes = write.glass.after
    if request is None:
        return NotGranted("no request waits for approval here, or it waited too long: ask again")
    if notes.get(names.APPROVE) != request.id:
        return NotGranted(f"the request that waits here is {request.id}: approve that, or nothing")
    if any(notes.get(name) != write.glass.before.get(name) for name in names.ASKED):
        return NotGranted("an approval changes nothing of the request")
    if digest_of(notes.get(names.REASON) or "") != request.reason:
        return NotGranted("the reason is not the one that was given with the request: ask again")
    return _judge_approver(request, case)


def _judge_approver(request: GrantRequest, case: Case) -> Granted | NotGranted:
    actor, rule = case.write.actor, case.policy.glass_rule(request.rule)
    if rule is None or rule.approvers is None:
        return NotGranted(f"the rule {request.rule!r} is not there any more: ask again")
    if actor.may_be(request.actor, request.actor_uid):
        return NotGranted(f"by rule {rule.name!r}, somebody else approves, not {request.actor}")
    if actor not in rule.approvers:
        who = describe_people(rule.document.approval) if rule.document.approval else "nobody"
        return NotGranted(f"by rule {rule.name!r}, {actor.name} is none of the approvers: {who}")
    if case.write.changes:
        return NotGranted("an approval changes nothing else")
    return _judge_approved_terms(request, rule, case)


def _judge_approved_terms(request: GrantRequest, rule: Rule, case: Case) -> Granted | NotGranted:
    ttl = min(timedelta(seconds=request.ttl), rule.longest_ttl)
    live = live_grant(case)
    extends = live if live is not None and _is_of(live, request) else None
    start = extends.start if extends else case.now.replace(microsecond=0)
    if start + ttl <= case.now:
        return NotGranted(f"by rule {rule.name!r}, the time that was asked for is over: ask again")
    too_many = None if extends else _find_limit(rule, case.write)
    if too_many is not None:
        return NotGranted(too_many)
    return Granted(rule, ttl, start, extends, request)


def _is_of(stamp: Stamp, request: GrantRequest) -> bool:
    return (stamp.actor, stamp.actor_uid) == (request.actor, request.actor_uid)


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


def find_exclusion(rule: Rule, write: Write) -> str | None:
    """Return, as half a sentence, why no grant by *rule* ever covers *write*, if none does."""
    if rule.closes(write.target):
        return f"objects of kind {write.target.kind} stay closed even under a grant"
    operation, named = operation_of(write), rule.document.operations
    if operation not in named:
        return f"a grant covers {', '.join(named)}, and no {operation}"
    pattern = rule.closed_by(write.changes)
    return f"{pattern} stays closed even under a grant" if pattern else None


def find_broken_term(stamp: Stamp, case: Case) -> str | None:
    """Return why the rule that gave *stamp* would not give it any more, or not for this write."""
    rule = case.policy.glass_rule(stamp.rule)
    if rule is None:
        return f"the rule {stamp.rule!r} that gave the grant is not in the policy any more"
    if rule not in rules_about(case):
        return f"the rule {rule.name!r} that gave the grant is not about this object"
    reason = _find_tightened(rule, stamp, case) or find_exclusion(rule, case.write)
    return f"by rule {rule.name!r}, {reason}" if reason else None


def find_stricter_rule(stamp: Stamp, case: Case) -> str | None:
    """Return why the first rule for the object would not give what *stamp*, on its Namespace, does.

    The hour that counts is that of the grant's beginning, as for a grant on the object itself.
    """
    first = _first_rule(case, stamp.start)
    if first is None or first.name == stamp.rule:
        return None
    reason = _find_stricter_term(first, stamp, case) or find_exclusion(first, case.write)
    if reason is None:
        return None
    return (
        f"by rule {first.name!r}, which comes first for this object, {reason}: "
        "break the glass on the object itself"
    )


def _find_tightened(rule: Rule, stamp: Stamp, case: Case) -> str | None:
    actor = case.write.actor
    if actor not in rule.people:
        return f"{actor.name} may not break the glass any more"
    if rule.outlives(stamp.start, case.now):
        longest = render_duration(rule.longest_ttl)
        end = render_time(stamp.start + rule.longest_ttl)
        return f"a grant lives at most {longest}: this one ended at {end}"
    if rule.approvers is not None and not stamp.approver:
        return "a second person approves first: ask again"
    return _find_other_person(rule, stamp, actor)


def _find_stricter_term(first: Rule, stamp: Stamp, case: Case) -> str | None:
    own = case.policy.glass_rule(stamp.rule)
    approval = first.document.approval
    if not first.document.namespace_wide:
        return "a grant on a Namespace does not count"
    if approval is not None and (own is None or own.document.approval != approval):
        return "a second person approves first"
    if stamp.expires - stamp.start > first.longest_ttl:
        return f"a grant lives at most {render_duration(first.longest_ttl)}"
    fault = find_fault(first, case.write.glass.namespace)
    return fault or _find_other_person(first, stamp, case.write.actor)


def _find_other_person(rule: Rule, stamp: Stamp, actor: Actor) -> str | None:
    if actor.name == stamp.actor or rule.document.shared:
        return None
    return f"a grant is one person's: this one is {stamp.actor}'s"


@once_per_case
def judge_closing(case: Case) -> NotGranted | None:
    """Return why the writer may not end the grant, or withdraw the request, if they may not."""
    live = live_grant(case)
    request = waiting_request(case) if live is None else None
    return _judge_ending(case, live, request, "end a grant that is not theirs")


def judge_settling(case: Case, ended: Stamp | None) -> NotGranted | None:
    """Return why the writer may not state the outcome of a grant that is over, if they may not."""
    return _judge_ending(case, ended, None, "settle a grant that was not theirs")


def _judge_ending(
    case: Case, stamp: Stamp | None, request: GrantRequest | None, act: str
) -> NotGranted | None:
    actor, rules = case.write.actor, rules_about(case)
    if stamp is not None and is_grantee(stamp, actor):
        return None
    if request is not None and actor.name == request.actor:
        return None
    given_by = stamp.rule if stamp else request.rule if request else ""
    if any(_may_end(actor, rule, given_by) for rule in rules):
        return None
    owners = [stamp.actor] if stamp else [request.actor] if request else []
    who = ", ".join([*owners, *dict.fromkeys(describe_people(rule.document) for rule in rules)])
    return NotGranted(f"{actor.name} may not {act}; who may: {who or 'nobody'}")


def _may_end(actor: Actor, rule: Rule, given_by: str) -> bool:
    """Return whether *actor* could have a grant by *rule*, or approve those of rule *given_by*."""
    approves = rule.approvers is not None and actor in rule.approvers
    return actor in rule.people or (approves and rule.name == given_by)
