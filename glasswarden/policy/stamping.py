"""What the mutating webhook writes: stamps, requests that wait, and the removal of what is over.

It denies nothing: what is not granted is left as it was sent, for the validating webhook to deny
with the reason. Asked twice about one write it answers the same, but for the id of a new grant.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import GrantRequest, Stamp, digest_of
from glasswarden.policy.case import Case, is_by_reconciler
from glasswarden.policy.grants import Cover, cover_of, held_fields
from glasswarden.policy.requests import (
    Granted,
    Intent,
    NeedsApproval,
    intent_of,
    judge_approval,
    judge_closing,
    judge_request,
    live_grant,
    waiting_request,
)
from glasswarden.policy.types import Operation

Annotations: TypeAlias = Mapping[str, str | Stamp | GrantRequest | None]
"""Annotations to set, some of them to be signed first, and those to remove."""

_CLEARED: Final[Annotations] = dict.fromkeys(names.ANNOTATIONS - {names.OUTCOME})
"""The outcome stays for whoever comes to look, until the next grant."""


def annotations_for(case: Case, new_id: str) -> Annotations:
    """Return what is to be written onto the object, with *new_id* for a new grant or request."""
    if case.write.operation is not Operation.UPDATE or case.write.subresource:
        return {}
    if is_by_reconciler(case):
        return _restore_all(case)
    match intent_of(case):
        case Intent.ASK:
            return _answer_request(case, new_id)
        case Intent.APPROVE:
            judgement = judge_approval(case)
            return _issue_grant(judgement, case, new_id) if isinstance(judgement, Granted) else {}
        case Intent.CLOSE:
            return {} if judge_closing(case) else _CLEARED
        case Intent.SETTLE | Intent.NOTHING:
            return {**_restore_tokens(case), **_remember_changes(case)}


def _answer_request(case: Case, new_id: str) -> Annotations:
    judgement = judge_request(case)
    if isinstance(judgement, Granted):
        return _issue_grant(judgement, case, new_id)
    if not isinstance(judgement, NeedsApproval):
        return {}
    # An extension that waits does not end what was granted before.
    is_kept = live_grant(case) is not None
    return {
        names.GRANT: case.write.glass.before.get(names.GRANT) if is_kept else None,
        names.REQUEST: _new_request(judgement, case, new_id),
        names.APPROVAL: names.PENDING,
        names.APPROVE: None,
        names.OUTCOME: None,
    }


def _new_request(needed: NeedsApproval, case: Case, new_id: str) -> GrantRequest:
    write, rule = case.write, needed.rule
    texts = write.glass.after.texts
    return GrantRequest(
        id=new_id,
        cluster=case.policy.cluster,
        uid=write.target.uid,
        version=write.glass.version,
        actor=write.actor.name,
        actor_uid=write.actor.uid,
        groups=rule.people.groups_of(write.actor) if rule.document.shared else (),
        rule=rule.name,
        ticket=texts[names.TICKET],
        reason=digest_of(texts[names.REASON]),
        ttl=int(needed.ttl.total_seconds()),
        deadline=case.now.replace(microsecond=0) + rule.within,
        trial=write.dry_run,
    )


def _issue_grant(granted: Granted, case: Case, new_id: str) -> Annotations:
    # What the approver wrote stays beside the grant: the validating webhook reads it there.
    over = [] if granted.request else [names.APPROVE]
    over += [names.APPROVAL, names.REQUEST, names.OUTCOME]
    return {names.GRANT: _new_stamp(granted, case, new_id), **dict.fromkeys(over)}


def _new_stamp(granted: Granted, case: Case, new_id: str) -> Stamp:
    write, rule, request = case.write, granted.rule, granted.request
    shared = rule.people.groups_of(write.actor) if rule.document.shared else ()
    return Stamp(
        id=granted.extends.id if granted.extends else new_id,
        cluster=case.policy.cluster,
        uid=write.target.uid,
        version=write.glass.version,
        actor=request.actor if request else write.actor.name,
        actor_uid=request.actor_uid if request else write.actor.uid,
        groups=request.groups if request else shared,
        approver=write.actor.name if request else "",
        rule=rule.name,
        ticket=write.glass.after.texts[names.TICKET],
        operations=rule.document.operations,
        start=granted.start,
        expires=granted.expires,
        hold=rule.document.hold,
        held=_fields_to_hold(case) if rule.document.hold else (),
        trial=write.dry_run,
    )


def _fields_to_hold(case: Case) -> tuple[str, ...]:
    """Return the fields to remember. Whoever takes a fix over takes it over whole."""
    found, live = held_fields(case), live_grant(case)
    if found is not None:
        return found
    return live.held if live else ()  # a write that changes too much is denied


def _restore_all(case: Case) -> Annotations:
    """Return what undoes a reconciler's changes of ours: Git neither asks, approves nor closes."""
    before, after = case.write.glass.before, case.write.glass.after
    live, waiting = live_grant(case), waiting_request(case)
    if live is None and waiting is None:
        over = not before.texts.keys().isdisjoint(names.HOOKS_OWN)
        return _CLEARED if over else dict.fromkeys(names.HOOKS_OWN)
    right = {name: before.get(name) for name in names.ANNOTATIONS}
    # A token that does not count, one that Git itself had brought, would count as ours.
    right |= {names.GRANT: None} if live is None else {}
    right |= {names.REQUEST: None, names.APPROVAL: None} if waiting is None else {}
    return {name: text for name, text in right.items() if text != after.get(name)}


def _restore_tokens(case: Case) -> Annotations:
    """Return what undoes changes of what only the webhook writes, and removes what is over."""
    before, after = case.write.glass.before, case.write.glass.after
    live, waiting = live_grant(case), waiting_request(case)
    if live is None and waiting is None:
        over = not before.texts.keys().isdisjoint(names.HOOKS_OWN)
        return _CLEARED if over else {}
    right = {
        names.GRANT: before.get(names.GRANT) if live else None,
        names.REQUEST: before.get(names.REQUEST) if waiting else None,
        names.APPROVAL: names.PENDING if waiting else None,
    }
    # What somebody wrote in place of a token stays, for the validating webhook to deny.
    return {
        name: text
        for name, text in right.items()
        if text != after.get(name) and (after.get(name) in (None, before.get(name)))
    }


def _remember_changes(case: Case) -> Annotations:
    """Return the stamp that remembers which fields this write changes under a grant."""
    write, cover = case.write, cover_of(case) if case.write.changes else ""
    if not isinstance(cover, Cover) or not cover.stamp.hold:
        return {}
    live, held = live_grant(case), held_fields(case)
    if held is None:
        return {}  # it is denied
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
