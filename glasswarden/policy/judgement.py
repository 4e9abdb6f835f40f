"""What the rules say to somebody who wants to break the glass: yes, wait, or no, and why."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from glasswarden.duration import DurationError, parse_span, render_duration
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.notes import Notes
from glasswarden.policy.breakglass.petition import Petition, digest_of
from glasswarden.policy.breakglass.rules import Rule, people_of
from glasswarden.policy.breakglass.stamp import Stamp, admits
from glasswarden.policy.intent import live_grant, waiting_petition
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write

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
    return _judge(rule, ttl, write, policy, now)


def _judge(rule: Rule, ttl: timedelta, write: Write, policy: Policy, now: datetime) -> Judgement:
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
    ttl = rule.default_ttl if text is None else parse_span(text)
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
