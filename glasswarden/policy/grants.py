"""Grants: whether one covers a write, and what a write does with one.

Everything is judged by what is about to be stored, after every mutating webhook: whatever their
order, and whether or not ours was among them, a stamp that was not there before is stored only if
it was issued for this very write. A grant covers a write if it is in force, if the rules would
still give it, and if they leave open the operation and every changed field. Issues nothing.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import (
    DECLARED,
    TOKENS,
    Outcome,
    Unreadable,
    describe_invalid_outcome,
    parse_outcome,
    render_time,
)
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.breakglass.tokens import (
    Act,
    Flaw,
    GrantRequest,
    GrantUse,
    Stamp,
    check_stamp,
    find_flaw,
    is_fresh,
    is_grantee,
    is_waiting,
    merge_held_fields,
)
from glasswarden.policy.case import Case, once_per_case
from glasswarden.policy.requests import (
    Granted,
    Intent,
    NotGranted,
    ended_grant,
    find_broken_term,
    find_stricter_rule,
    intent_of,
    judge_approval,
    judge_closing,
    judge_request,
    judge_settling,
    live_grant,
    operation_of,
    rule_of,
    waiting_request,
)
from glasswarden.policy.types import Operation
from glasswarden.policy.write import Write


@dataclass(frozen=True, slots=True)
class Cover:
    """The grant that a write is made under."""

    stamp: Stamp
    namespaced: bool
    """Whether it is on the object's Namespace."""


@once_per_case
def cover_of(case: Case) -> Cover | str:
    """Return the grant that the write is made under, or why there is none."""
    reasons = []
    glass = case.write.glass
    for notes, namespaced in ((glass.before, False), (glass.namespace, True)):
        if isinstance(notes.grant, Unreadable):
            reasons.append(f"the stamp does not count: {notes.grant.reason}")
        elif names.GRANT in notes.declared:
            reasons.append(f"the stamp does not count: {DECLARED}")
        stamp = notes.valid_stamp()
        if stamp is None or stamp.namespace:
            continue
        cover = Cover(stamp, namespaced)
        reason = find_objection(cover, case)
        if reason is None:
            return cover
        reasons.append(reason)
    return "; ".join(reasons)


def may_lack_grant(case: Case) -> bool:
    """Return whether the writer may use break-glass for the changes, and has no grant yet."""
    if not case.write.changes or rule_of(case) is None:
        return False
    return isinstance(cover_of(case), str)


def find_objection(cover: Cover, case: Case) -> str | None:
    """Return, as a sentence without its end, why *cover* does not cover the write."""
    stamp, write = cover.stamp, case.write
    flaw = check_stamp(
        stamp,
        cluster=case.policy.cluster,
        uid=write.glass.namespace_uid if cover.namespaced else write.target.uid,
        actor=write.actor,
        operation=operation_of(write),
        now=case.now,
    )
    if flaw is not None:
        return _describe_flaw(flaw, stamp, write)
    reason = find_broken_term(stamp, case)
    if reason is None and cover.namespaced:
        reason = find_stricter_rule(stamp, case)
    return reason or _find_overflow(stamp, case)


def _find_overflow(stamp: Stamp, case: Case) -> str | None:
    """Return why a grant that holds cannot remember what the write changes, if it cannot."""
    changes = case.write.changes
    if not stamp.hold or not changes:
        return None
    if held_fields(case) is not None:
        return None
    return (
        f"the stamp of a grant that holds has no room to remember {len(changes)} more fields "
        "that were changed: change fewer of them, or use a rule that does not hold"
    )


@once_per_case
def held_fields(case: Case) -> tuple[str, ...] | None:
    """Return the fields that were changed under the live grant, with those of this write.

    None where a stamp has no room for them.
    """
    live = live_grant(case)
    return merge_held_fields(case.write.target, live.held if live else (), case.write.changes)


def _describe_flaw(flaw: Flaw, stamp: Stamp, write: Write) -> str:
    grant = f"the grant for {stamp.ticket}"
    match flaw:
        case Flaw.EXPIRED:
            return f"{grant} expired at {render_time(stamp.expires)}"
        case Flaw.OTHER_PERSON if write.actor.name == stamp.actor:
            return f"{grant} is that of another account called {stamp.actor}, with another uid"
        case Flaw.OTHER_PERSON:
            return f"{grant} is {stamp.actor}'s"
        case Flaw.OTHER_OPERATION:
            named = ", ".join(stamp.operations)
            return (
                f"{grant} does not cover {operation_of(write)}: "
                f"rule {stamp.rule!r} does not name it, but {named}"
            )
        case _:
            return f"{grant} does not count: {flaw}"


@once_per_case
def forgery_of(case: Case) -> str | None:
    """Return what is wrong with the stamps that the write would leave, if something is.

    A new object has no uid that a stamp could have been issued for: one that it brings is void.
    """
    if case.write.operation is not Operation.UPDATE or not case.write.glass.differs:
        return None
    return (
        _find_forged_grant(case)
        or _find_forged_request(case)
        or _find_forged_approval(case.write)
        or _find_forged_label(case.write)
        or _find_owned_token(case.write)
    )


def _find_forged_grant(case: Case) -> str | None:
    glass = case.write.glass
    old, new = glass.before.get(names.GRANT), glass.after.get(names.GRANT)
    if old == new and not _is_disowned(case.write, names.GRANT):
        return None
    if new is None:
        if live_grant(case) is None or _removes_reason(case.write):
            return None
        return "a grant is ended by removing its reason, not its stamp"
    stamp = glass.after.grant
    if not isinstance(stamp, Stamp):
        return f"its stamp does not count: {_reason_of(stamp)}"
    flaw = _find_flaw_of_new(stamp, case)
    return f"its stamp does not count: {flaw}" if flaw else None


def _is_disowned(write: Write, name: str) -> bool:
    """Return whether a token that somebody declared is nobody's after the write: as if new."""
    return name in write.glass.before.declared - write.glass.after.declared


def _removes_reason(write: Write) -> bool:
    before, after = write.glass.before.texts, write.glass.after.texts
    return names.REASON in before and names.REASON not in after


def _find_flaw_of_new(stamp: Stamp, case: Case) -> Flaw | None:
    write = case.write
    flaw = find_flaw(stamp, case.policy.cluster, write.target.uid, case.now)
    if flaw is not None:
        return flaw
    theirs = write.actor.name == stamp.approver or is_grantee(stamp, write.actor)
    if not theirs and not _only_remembers(stamp, live_grant(case)):
        return Flaw.OTHER_PERSON
    fresh = is_fresh(stamp, write.glass.version, trial=write.dry_run)
    return None if fresh else Flaw.OTHER_VERSION


def _only_remembers(stamp: Stamp, live: Stamp | None) -> bool:
    """Return whether *stamp* is *live* but for the fields that it remembers.

    Somebody with a grant on the Namespace may write to what another has a grant on.
    """
    alike = {"held": (), "version": "", "trial": False}
    return live is not None and (
        msgspec.structs.replace(stamp, **alike) == msgspec.structs.replace(live, **alike)
    )


def _find_forged_request(case: Case) -> str | None:
    write, glass = case.write, case.write.glass
    old, new = glass.before.get(names.REQUEST), glass.after.get(names.REQUEST)
    if old == new and not _is_disowned(write, names.REQUEST):
        return None
    if new is None:
        over = names.REASON not in glass.after.texts or waiting_request(case) is None
        decided = glass.after.get(names.GRANT) != glass.before.get(names.GRANT)
        return None if over or decided else "a request is withdrawn by removing its reason"
    request = glass.after.request
    if not isinstance(request, GrantRequest):
        return f"its request does not count: {_reason_of(request)}"
    genuine = (
        is_waiting(request, case.policy.cluster, write.target.uid, case.now)
        and request.version == glass.version != ""
        and (request.actor, request.actor_uid) == (write.actor.name, write.actor.uid)
        and request.trial == write.dry_run
    )
    return None if genuine else "its request was not made in this write"


def _find_forged_approval(write: Write) -> str | None:
    before, after = write.glass.before, write.glass.after
    if before.get(names.APPROVAL) == after.get(names.APPROVAL):
        return None
    right = names.PENDING if names.REQUEST in after.texts else None
    if after.get(names.APPROVAL) == right:
        return None
    return f"{names.APPROVAL} is not for people to write; an approver sets {names.APPROVE}"


def _find_forged_label(write: Write) -> str | None:
    before, after = write.glass.before, write.glass.after
    if before.active == after.active or not is_namespace(write.target):
        return None
    if after.active == (names.GRANT in after.texts):
        return None
    return f"the label {names.ACTIVE} comes and goes with a grant"


def _find_owned_token(write: Write) -> str | None:
    """Return that a token is, or becomes, somebody's own: as theirs none would count.

    Also where the webhook has removed theirs: who owns the field would own the next one.
    """
    before, after = write.glass.before, write.glass.after
    new = frozenset(name for name in TOKENS if before.get(name) != after.get(name))
    spoiled = (after.owned - before.owned) | (after.declared - before.declared)
    if not spoiled | (after.declared & new):
        return None
    return f"its stamp would not count: {DECLARED}"


def _reason_of(token: object) -> str:
    return token.reason if isinstance(token, Unreadable) else "there is none"


_UNSTAMPED: Final = (
    "the request was not stamped: Glasswarden's mutating webhook is out of reach, or has no key"
)


def changes_grant(case: Case) -> bool:
    """Return whether the write has anything to do with a grant but perhaps to use one."""
    if not case.write.glass.differs:
        return False
    return intent_of(case) is not Intent.NOTHING or forgery_of(case) is not None


@once_per_case
def grant_use(case: Case) -> GrantUse | str:
    """Return what the write may do by the rules of break-glass, or why it may not.

    Forged stamps have been denied before: what is new on the object is the webhook's.
    """
    return _USES[intent_of(case)](case)


def _use_of_request(case: Case) -> GrantUse | str:
    judgement, write = judge_request(case), case.write
    if isinstance(judgement, NotGranted):
        return judgement.reason
    if not isinstance(judgement, Granted):
        return _use_of_waiting_request(write)
    stamp = _new_stamp(write)
    if stamp is None or not _fits(stamp, judgement, write):
        return _UNSTAMPED
    cover = Cover(stamp, namespaced=False)
    reason = find_objection(cover, case) if write.changes else None
    if reason is not None:
        return reason
    return _use(Act.EXTENDED if judgement.extends else Act.ISSUED, stamp, write)


def _use_of_approval(case: Case) -> GrantUse | str:
    judgement, write = judge_approval(case), case.write
    if isinstance(judgement, NotGranted):
        return judgement.reason
    stamp = _new_stamp(write)
    if stamp is None or stamp.approver != write.actor.name or not _fits(stamp, judgement, write):
        return _UNSTAMPED
    return _use(Act.APPROVED, stamp, write)


def _use_of_closing(case: Case) -> GrantUse | str:
    not_granted = judge_closing(case)
    if not_granted is not None:
        return not_granted.reason
    text = case.write.glass.after.get(names.OUTCOME)
    outcome = parse_outcome(text) if text is not None else Outcome("")
    if outcome is None:
        return describe_invalid_outcome(text or "")
    return _find_uncovered(case) or _end_of_grant(case, outcome)


def _end_of_grant(case: Case, outcome: Outcome) -> GrantUse | str:
    """Return the end of the grant, or of the request."""
    live, request = live_grant(case), waiting_request(case)
    reason = case.write.glass.before.get(names.REASON) or ""
    if live is not None:
        return _use(Act.CLOSED, live, case.write, reason, outcome.word)
    if request is None:
        return "there is nothing to end"
    return GrantUse(
        request.id, Act.CLOSED, request.actor, request.rule, request.ticket, reason, None
    )


def _use_of_settlement(case: Case) -> GrantUse | str:
    text = case.write.glass.after.get(names.OUTCOME) or ""
    outcome = parse_outcome(text)
    if outcome is None:
        return describe_invalid_outcome(text)
    stamp = ended_grant(case)
    if stamp is not None and outcome.grant not in {"", stamp.id}:
        stamp = None  # they mean an earlier one
    if stamp is not None and stamp.namespace:
        return "the grant was one on the Namespace: say there what became of the changes"
    if stamp is None and not outcome.grant:
        return (
            "no grant is left on the object: say of which one, as `glasswarden grants` shows it, "
            f"with {names.OUTCOME}={outcome.word}:ID"
        )
    not_granted = judge_settling(case, stamp)
    if not_granted is not None:
        return not_granted.reason
    return _find_uncovered(case) or _settlement(outcome, stamp, case.write)


def _settlement(outcome: Outcome, stamp: Stamp | None, write: Write) -> GrantUse:
    return GrantUse(
        outcome.grant or (stamp.id if stamp else ""),
        Act.SETTLED,
        stamp.actor if stamp else "",
        stamp.rule if stamp else "",
        stamp.ticket if stamp else "",
        "",
        None,
        outcome=outcome.word,
        namespaced=is_namespace(write.target),
    )


def _find_uncovered(case: Case) -> str | None:
    """Return why what else the write changes is under no grant, if it changes anything."""
    cover = cover_of(case) if case.write.changes else None
    if not isinstance(cover, str):
        return None
    return cover or "nobody has broken the glass for what else it changes"


def _use_of_write(case: Case) -> GrantUse | str:
    cover, write = cover_of(case), case.write
    if isinstance(cover, str):
        return cover
    notes = write.glass.namespace if cover.namespaced else write.glass.before
    return _use(
        Act.USED, cover.stamp, write, notes.get(names.REASON) or "", within=cover.namespaced
    )


_USES: Final = {
    Intent.ASK: _use_of_request,
    Intent.APPROVE: _use_of_approval,
    Intent.CLOSE: _use_of_closing,
    Intent.SETTLE: _use_of_settlement,
    Intent.NOTHING: _use_of_write,
}


def _use_of_waiting_request(write: Write) -> GrantUse | str:
    request = write.glass.after.request
    if not isinstance(request, GrantRequest) or not _is_new(write, names.REQUEST):
        return _UNSTAMPED
    return GrantUse(
        request.id,
        Act.REQUESTED,
        request.actor,
        request.rule,
        request.ticket,
        write.glass.after.get(names.REASON) or "",
        request.deadline,
        namespaced=is_namespace(write.target),
    )


def _use(
    act: Act,
    stamp: Stamp,
    write: Write,
    reason: str | None = None,
    outcome: str = "",
    *,
    within: bool = False,
) -> GrantUse:
    if reason is None:
        reason = write.glass.after.get(names.REASON) or ""
    return GrantUse(
        stamp.id,
        act,
        stamp.actor,
        stamp.rule,
        stamp.ticket,
        reason,
        stamp.expires,
        stamp.approver,
        outcome,
        within or is_namespace(write.target),
    )


def _new_stamp(write: Write) -> Stamp | None:
    stamp = write.glass.after.grant
    return stamp if isinstance(stamp, Stamp) and _is_new(write, names.GRANT) else None


def _is_new(write: Write, name: str) -> bool:
    return write.glass.before.get(name) != write.glass.after.get(name)


def _fits(stamp: Stamp, granted: Granted, write: Write) -> bool:
    """Return whether *stamp* carries what was asked for."""
    return (
        stamp.ticket == write.glass.after.get(names.TICKET)
        and stamp.expires - stamp.start == granted.ttl
        and stamp.rule == granted.rule.name
    )
