"""What a write means for break-glass, read from the annotations before and after it.

What the rules say to somebody who wants to break the glass: yes, wait, or no, and why.

Whether a grant is one that the rules give for a write: its terms, asked again at every use.

A policy may be tightened while a grant lives. And a grant on a Namespace was given by the rule for
the Namespace, while an object in it may have another that comes first.

Who may end a grant, and say what became of the changes: those who could have made them.

A grant that ends lets the reconciler revert a fix in the middle of an incident. The hour does not
matter here: the way back is open when the way in is not.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias

import msgspec

from glasswarden.duration import DurationError, parse_positive_duration, render_duration
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import Glass, Notes, moment
from glasswarden.policy.breakglass.rules import Rule, is_namespace, people_of
from glasswarden.policy.breakglass.tokens import Petition, Stamp, admits, digest_of, flaw
from glasswarden.policy.policy import Policy
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
    """To say what became of the changes under a grant that is over."""


def intent_of(write: Write, policy: Policy, now: datetime) -> Intent:
    """Return what *write* wants of break-glass."""
    glass = write.glass
    before, after = glass.before, glass.after
    if before.texts == after.texts:
        return Intent.NOTHING
    if not policy.guards(write) and not is_namespace(write.target):
        return Intent.NOTHING  # there is no glass to break
    if after.get(names.APPROVE) not in (None, before.get(names.APPROVE)):
        return Intent.APPROVE
    live = live_grant(write, policy, now)
    open_ = live is not None or waiting_petition(write, policy, now) is not None
    if names.REASON in after.texts:
        if _differs(glass) or (live is None and _is_renewed(glass)):
            return Intent.ASK
    elif names.REASON in before.texts and open_:
        return Intent.CLOSE
    settles = after.get(names.OUTCOME) not in (None, before.get(names.OUTCOME))
    return Intent.SETTLE if settles and not open_ else Intent.NOTHING


def live_grant(write: Write, policy: Policy, now: datetime) -> Stamp | None:
    """Return the grant that is in force on the object, before this write.

    A stamp that follows from the Namespace's grant ends with that, and is extended with it.
    """
    glass = write.glass
    stamp = glass.before.counted()
    if stamp is None or not stamp.namespace or glass.namespace_unknown:
        return _given(glass.before.live(policy.cluster, write.target.uid, now), policy, now)
    around = grant_around(write, policy, now)
    if around is None or around.id != stamp.id:
        return None
    extended = msgspec.structs.replace(stamp, expires=around.expires)
    return None if flaw(extended, policy.cluster, write.target.uid, now) else extended


def grant_around(write: Write, policy: Policy, now: datetime) -> Stamp | None:
    """Return the grant that is in force on the Namespace that the object is in."""
    glass = write.glass
    return _given(glass.namespace.live(policy.cluster, glass.namespace_uid, now), policy, now)


def _given(stamp: Stamp | None, policy: Policy, now: datetime) -> Stamp | None:
    """Return *stamp* unless its rule has left the policy, or gives that much time no longer."""
    rule = policy.glass_rule(stamp.rule) if stamp is not None else None
    return None if stamp is None or rule is None or rule.outlives(stamp.start, now) else stamp


def ended_grant(write: Write, policy: Policy) -> Stamp | None:
    """Return the stamp of a grant that is over, where it is still on the object.

    To be asked where none is in force.
    """
    stamp = write.glass.before.grant
    declared = names.GRANT in write.glass.before.declared
    if not isinstance(stamp, Stamp) or stamp.trial or declared:
        return None
    here = (stamp.cluster, stamp.uid) == (policy.cluster, write.target.uid)
    return stamp if here else None


def waiting_petition(write: Write, policy: Policy, now: datetime) -> Petition | None:
    """Return the request that waits on the object, before this write."""
    return write.glass.before.waiting(policy.cluster, write.target.uid, now)


def _differs(glass: Glass) -> bool:
    return any(glass.before.get(name) != glass.after.get(name) for name in names.ASKED)


def _is_renewed(glass: Glass) -> bool:
    """Tell whether a grant that is over was taken off, or replaced, while its reason stays."""
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
    petition: Petition | None = None
    """The request that was approved, where one was."""

    @property
    def expires(self) -> datetime:
        """When it ends."""
        return self.start + self.ttl


@dataclass(frozen=True, slots=True)
class Waits:
    """The rules want a second person to agree first."""

    rule: Rule
    ttl: timedelta


@dataclass(frozen=True, slots=True)
class Refused:
    """The rules do not give it; the sentence says what would pass."""

    why: str


Judgement: TypeAlias = Granted | Waits | Refused


def rule_for(write: Write, policy: Policy, now: datetime) -> Rule | None:
    """Return the rule by which the writer may break the glass here, the first that fits."""
    for rule in policy.glass:
        about = rule.is_about(write.target, write.owner, write.labels)
        if about and rule.is_for(write.actor, now):
            return rule
    return None


def out_of_hours(write: Write, policy: Policy) -> str | None:
    """Return when the writer, for whom no rule is in force now, may break the glass here."""
    for rule in policy.glass:
        about = rule.is_about(write.target, write.owner, write.labels)
        if about and rule.hours is not None and write.actor in rule.people:
            return f"by rule {rule.name!r}, {write.actor.name} may break the glass {rule.hours}"
    return None


def judge_request(write: Write, policy: Policy, now: datetime) -> Judgement:
    """Return what the rules say to the request that *write* makes."""
    rule = rule_for(write, policy, now)
    if rule is None:
        late = out_of_hours(write, policy)
        return Refused(late or f"no rule lets {write.actor.name} break the glass here")
    if rule.closes(write.target):
        kind = write.target.kind
        return Refused(f"by rule {rule.name!r}, objects of kind {kind} stay closed")
    wrong = fault_in_words(rule, write.glass.after)
    if wrong is not None:
        return Refused(f"by rule {rule.name!r}, {wrong}")
    try:
        ttl = _ttl(rule, write.glass.after.get(names.TTL))
    except DurationError as error:
        return Refused(f"by rule {rule.name!r}, {error}")
    return _judge_request(rule, ttl, write, policy, now)


def _judge_request(
    rule: Rule, ttl: timedelta, write: Write, policy: Policy, now: datetime
) -> Judgement:
    own, theirs = _own_grant(write, policy, now), live_grant(write, policy, now)
    if theirs is not None and own is None and not theirs.namespace and _same_reason(write):
        return Refused(
            f"by rule {rule.name!r}, who takes a grant over gives a reason of their own: "
            f"this one is {theirs.actor}'s"
        )
    start = own.start if own else now.replace(microsecond=0)
    if start + ttl <= now:
        least, most = render_duration(now - start), render_duration(rule.longest_ttl)
        return Refused(
            f"by rule {rule.name!r}, a ttl of {render_duration(ttl)} is over: it counts from "
            f"{start:%H:%M:%S} UTC, the start; more than {least}, at most {most} passes"
        )
    crowd = None if own else _crowd(rule, write)
    if crowd is not None:
        return Refused(crowd)
    if rule.approvers is None:
        return Granted(rule, ttl, start, own)
    if write.changes:
        return Refused(
            f"by rule {rule.name!r}, a second person approves first: "
            "set the annotations alone, and change the rest when it is approved"
        )
    return Waits(rule, ttl)


def fault_in_words(rule: Rule, notes: Notes) -> str | None:
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


def _own_grant(write: Write, policy: Policy, now: datetime) -> Stamp | None:
    """Return the writer's own grant on the object: a request then changes it, and begins none."""
    live = live_grant(write, policy, now)
    if live is None or live.namespace or live.actor != write.actor.name:
        return None
    return live if admits(live, write.actor) else None


def _same_reason(write: Write) -> bool:
    return write.glass.before.get(names.REASON) == write.glass.after.get(names.REASON)


def _crowd(rule: Rule, write: Write) -> str | None:
    most, open_ = rule.document.most_open, write.glass.open
    if most.person is not None and open_.person >= most.person:
        who = f"one person has at most {most.person} grants open at once: close one first"
        return f"by rule {rule.name!r}, {who}"
    if most.namespace is not None and open_.namespace >= most.namespace:
        where = f"a namespace has at most {most.namespace} grants open at once: close one first"
        return f"by rule {rule.name!r}, {where}"
    return None


def judge_approval(write: Write, policy: Policy, now: datetime) -> Granted | Refused:
    """Return what the rules say to a writer who approves."""
    petition = waiting_petition(write, policy, now)
    notes = write.glass.after
    if petition is None:
        return Refused("no request waits for approval here, or it waited too long: ask again")
    if notes.get(names.APPROVE) != petition.id:
        return Refused(f"the request that waits here is {petition.id}: approve that, or nothing")
    if any(notes.get(name) != write.glass.before.get(name) for name in names.ASKED):
        return Refused("an approval changes nothing of the request")
    if digest_of(notes.get(names.REASON) or "") != petition.reason:
        return Refused("the reason is not the one that was given with the request: ask again")
    return _judge_approver(petition, write, policy, now)


def _judge_approver(
    petition: Petition, write: Write, policy: Policy, now: datetime
) -> Granted | Refused:
    rule = policy.glass_rule(petition.rule)
    if rule is None or rule.approvers is None:
        return Refused(f"the rule {petition.rule!r} is not there any more: ask again")
    if write.actor.may_be(petition.actor, petition.actor_uid):
        return Refused(f"by rule {rule.name!r}, somebody else approves, not {petition.actor}")
    if write.actor not in rule.approvers:
        who = people_of(rule.document.approval) if rule.document.approval else "nobody"
        return Refused(f"by rule {rule.name!r}, {write.actor.name} is none of the approvers: {who}")
    if write.changes:
        return Refused("an approval changes nothing else")
    ttl = min(timedelta(seconds=petition.ttl), rule.longest_ttl)
    live = live_grant(write, policy, now)
    extends = live if live is not None and _is_of(live, petition) else None
    start = extends.start if extends else now.replace(microsecond=0)
    if start + ttl <= now:
        return Refused(f"by rule {rule.name!r}, the time that was asked for is over: ask again")
    crowd = None if extends else _crowd(rule, write)
    if crowd is not None:
        return Refused(crowd)
    return Granted(rule, ttl, start, extends, petition)


def _is_of(stamp: Stamp, petition: Petition) -> bool:
    return (stamp.actor, stamp.actor_uid) == (petition.actor, petition.actor_uid)


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


def judge_closing(write: Write, policy: Policy, now: datetime) -> Refused | None:
    """Return why the writer may not end the grant, or withdraw the request, if they may not."""
    live, petition = live_grant(write, policy, now), waiting_petition(write, policy, now)
    asked = petition if live is None else None
    return _judge_ending(write, policy, live, asked, "end a grant that is not theirs")


def judge_settling(write: Write, policy: Policy, ended: Stamp | None) -> Refused | None:
    """Return why the writer may not say what became of a grant that is over, if they may not."""
    return _judge_ending(write, policy, ended, None, "settle a grant that was not theirs")


def _judge_ending(
    write: Write, policy: Policy, stamp: Stamp | None, petition: Petition | None, act: str
) -> Refused | None:
    actor = write.actor
    if stamp is not None and admits(stamp, actor):
        return None
    if petition is not None and actor.name == petition.actor:
        return None
    rules = [
        rule for rule in policy.glass if rule.is_about(write.target, write.owner, write.labels)
    ]
    given = stamp.rule if stamp else petition.rule if petition else ""
    if any(_may(actor, rule, given) for rule in rules):
        return None
    whose = [stamp.actor] if stamp else [petition.actor] if petition else []
    who = ", ".join([*whose, *dict.fromkeys(people_of(rule.document) for rule in rules)])
    return Refused(f"{actor.name} may not {act}; who may: {who or 'nobody'}")


def _may(actor: Actor, rule: Rule, given: str) -> bool:
    """Tell whether *actor* could have a grant by *rule*, or approve those by the rule *given*."""
    approves = rule.approvers is not None and actor in rule.approvers
    return actor in rule.people or (approves and rule.name == given)
