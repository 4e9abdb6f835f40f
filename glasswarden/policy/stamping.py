"""What the mutating webhook writes: stamps, requests that wait, and the clearing up after them.

It refuses nothing: what is not granted is left as it was sent, for the validating webhook to refuse
with the reason. Asked twice about one write it answers the same, but for the id of a new grant.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import Petition, Stamp, digest_of, merged
from glasswarden.policy.grants import Cover, cover_of
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import (
    Granted,
    Intent,
    Waits,
    intent_of,
    judge_approval,
    judge_closing,
    judge_request,
    live_grant,
    waiting_petition,
)
from glasswarden.policy.types import Operation
from glasswarden.policy.write import Write

Marks: TypeAlias = Mapping[str, str | Stamp | Petition | None]
"""Annotations to set, some of them to be signed first, and those to remove."""

_CLEARED: Final[Marks] = dict.fromkeys(names.ANNOTATIONS - {names.OUTCOME})
"""The outcome stays for whoever comes to look, until the next grant."""


def marks_for(write: Write, policy: Policy, now: datetime, new_id: str) -> Marks:
    """Return what is to be written onto the object, with *new_id* for a new grant or request."""
    if write.operation is not Operation.UPDATE or write.subresource:
        return {}
    if write.owner is not None and policy.trusts(write.actor, write.owner):
        return _restored(write, policy, now)
    match intent_of(write, policy, now):
        case Intent.ASK:
            return _on_request(write, policy, now, new_id)
        case Intent.APPROVE:
            judgement = judge_approval(write, policy, now)
            if not isinstance(judgement, Granted):
                return {}
            return _granted(judgement, write, policy, now, new_id)
        case Intent.CLOSE:
            return {} if judge_closing(write, policy, now) else _CLEARED
        case Intent.SETTLE | Intent.NOTHING:
            return {**_kept(write, policy, now), **_remembered(write, policy, now)}


def _on_request(write: Write, policy: Policy, now: datetime, new_id: str) -> Marks:
    judgement = judge_request(write, policy, now)
    if isinstance(judgement, Granted):
        return _granted(judgement, write, policy, now, new_id)
    if not isinstance(judgement, Waits):
        return {}
    # An extension that waits does not end what was granted before.
    kept = live_grant(write, policy, now) is not None
    return {
        names.GRANT: write.glass.before.get(names.GRANT) if kept else None,
        names.REQUEST: _petition(judgement, write, policy, now, new_id),
        names.APPROVAL: names.PENDING,
        names.APPROVE: None,
        names.OUTCOME: None,
    }


def _petition(waits: Waits, write: Write, policy: Policy, now: datetime, new_id: str) -> Petition:
    texts, rule = write.glass.after.texts, waits.rule
    return Petition(
        id=new_id,
        cluster=policy.cluster,
        uid=write.target.uid,
        version=write.glass.version,
        actor=write.actor.name,
        actor_uid=write.actor.uid,
        groups=rule.people.groups_of(write.actor) if rule.document.shared else (),
        rule=rule.name,
        ticket=texts[names.TICKET],
        reason=digest_of(texts[names.REASON]),
        ttl=int(waits.ttl.total_seconds()),
        deadline=now.replace(microsecond=0) + rule.within,
        trial=write.dry_run,
    )


def _granted(granted: Granted, write: Write, policy: Policy, now: datetime, new_id: str) -> Marks:
    # What the approver wrote stays beside the grant: the validating webhook reads it there.
    over = [] if granted.petition else [names.APPROVE]
    over += [names.APPROVAL, names.REQUEST, names.OUTCOME]
    return {names.GRANT: _stamp(granted, write, policy, now, new_id), **dict.fromkeys(over)}


def _stamp(granted: Granted, write: Write, policy: Policy, now: datetime, new_id: str) -> Stamp:
    rule, petition, glass = granted.rule, granted.petition, write.glass
    shared = rule.people.groups_of(write.actor) if rule.document.shared else ()
    hold, live = rule.document.hold, live_grant(write, policy, now)
    return Stamp(
        id=granted.extends.id if granted.extends else new_id,
        cluster=policy.cluster,
        uid=write.target.uid,
        version=glass.version,
        actor=petition.actor if petition else write.actor.name,
        actor_uid=petition.actor_uid if petition else write.actor.uid,
        groups=petition.groups if petition else shared,
        approver=write.actor.name if petition else "",
        rule=rule.name,
        ticket=glass.after.texts[names.TICKET],
        operations=rule.document.operations,
        start=granted.start,
        expires=granted.expires,
        hold=hold,
        held=_held(write, live) if hold else (),
        trial=write.dry_run,
    )


def _held(write: Write, live: Stamp | None) -> tuple[str, ...]:
    """Return the fields to remember. Whoever takes a fix over takes it over whole."""
    known = live.held if live else ()
    found = merged(write.target, known, write.changes)
    return known if found is None else found  # a write that changes too much is refused


def _restored(write: Write, policy: Policy, now: datetime) -> Marks:
    """Return what undoes a reconciler's hand on ours: Git neither asks, approves nor closes."""
    before, after = write.glass.before, write.glass.after
    live, waiting = live_grant(write, policy, now), waiting_petition(write, policy, now)
    if live is None and waiting is None:
        over = not before.texts.keys().isdisjoint(names.HOOKS_OWN)
        return _CLEARED if over else dict.fromkeys(names.HOOKS_OWN)
    right = {name: before.get(name) for name in names.ANNOTATIONS}
    # A token that does not count, one that Git itself had brought, would count as ours.
    right |= {names.GRANT: None} if live is None else {}
    right |= {names.REQUEST: None, names.APPROVAL: None} if waiting is None else {}
    return {name: text for name, text in right.items() if text != after.get(name)}


def _kept(write: Write, policy: Policy, now: datetime) -> Marks:
    """Return what undoes a hand on what only the webhook writes, and clears away what is over."""
    before, after = write.glass.before, write.glass.after
    live, waiting = live_grant(write, policy, now), waiting_petition(write, policy, now)
    if live is None and waiting is None:
        over = not before.texts.keys().isdisjoint(names.HOOKS_OWN)
        return _CLEARED if over else {}
    right = {
        names.GRANT: before.get(names.GRANT) if live else None,
        names.REQUEST: before.get(names.REQUEST) if waiting else None,
        names.APPROVAL: names.PENDING if waiting else None,
    }
    # What somebody wrote in place of a token stays, for the validating webhook to refuse.
    return {
        name: text
        for name, text in right.items()
        if text != after.get(name) and (after.get(name) in (None, before.get(name)))
    }


def _remembered(write: Write, policy: Policy, now: datetime) -> Marks:
    """Return the stamp that remembers which fields this write changes under a grant."""
    if not write.changes:
        return {}
    cover = cover_of(write, policy, now)
    if not isinstance(cover, Cover) or not cover.stamp.hold:
        return {}
    live = live_grant(write, policy, now)
    held = merged(write.target, live.held if live else (), write.changes)
    if held is None:
        return {}  # it is refused
    if live is not None and not live.namespace:
        # Somebody's grant on the object itself stays theirs; it only remembers more.
        remembers = live
    else:
        around = write.glass.namespace_uid if cover.namespaced else ""
        remembers = msgspec.structs.replace(cover.stamp, uid=write.target.uid, namespace=around)
    if not remembers.hold or (live is not None and (live.id, live.held) == (remembers.id, held)):
        return {}
    return {
        names.GRANT: msgspec.structs.replace(
            remembers, version=write.glass.version, held=held, trial=write.dry_run
        )
    }
