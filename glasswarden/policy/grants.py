"""Whether a grant lets a write pass: the operation, the place, and every field that changes.

What a write does with a grant, judged by what is about to be stored.

Whether what only the webhook writes was written by somebody else.

Asked of what is about to be stored, after every mutating webhook has had its turn: whatever their
order, and whether or not ours was among them, a stamp that was not there before is stored only if
it was issued for this very write.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import (
    TOKENS,
    WHY,
    Outcome,
    Unreadable,
    moment,
    no_outcome,
    parse_outcome,
)
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.breakglass.tokens import (
    Act,
    Flaw,
    GrantUse,
    Petition,
    Stamp,
    admits,
    check,
    flaw,
    is_fresh,
    merged,
    waits,
)
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import (
    Granted,
    Intent,
    Refused,
    broken_term,
    ended_grant,
    intent_of,
    judge_approval,
    judge_closing,
    judge_request,
    judge_settling,
    live_grant,
    operation_of,
    outranked,
    rule_for,
    waiting_petition,
)
from glasswarden.policy.types import Operation
from glasswarden.policy.write import Write


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
        elif names.GRANT in notes.declared:
            reasons.append(f"the stamp does not count: {WHY}")
        stamp = notes.counted()
        if stamp is None or stamp.namespace:
            continue
        cover = Cover(stamp, namespaced)
        why = objection(cover, write, policy, now)
        if why is None:
            return cover
        reasons.append(why)
    return "; ".join(reasons)


def may_lack_grant(write: Write, policy: Policy, now: datetime) -> bool:
    """Tell whether *write* changes what its writer may break the glass on, and has not yet."""
    if not write.changes or rule_for(write, policy, now) is None:
        return False
    return isinstance(cover_of(write, policy, now), str)


def objection(cover: Cover, write: Write, policy: Policy, now: datetime) -> str | None:
    """Return, as a sentence without its end, why *cover* does not cover *write*."""
    stamp = cover.stamp
    found = check(
        stamp,
        cluster=policy.cluster,
        uid=write.glass.namespace_uid if cover.namespaced else write.target.uid,
        actor=write.actor,
        operation=operation_of(write),
        now=now,
    )
    if found is not None:
        return _in_words(found, stamp, write)
    why = broken_term(stamp, write, policy, now)
    if why is None and cover.namespaced:
        why = outranked(stamp, write, policy)
    return why or _too_much(stamp, write, live_grant(write, policy, now))


def _too_much(stamp: Stamp, write: Write, live: Stamp | None) -> str | None:
    """Return why a grant that holds cannot remember what *write* changes, if it cannot."""
    if not stamp.hold or not write.changes:
        return None
    if merged(write.target, live.held if live else (), write.changes) is not None:
        return None
    return (
        f"the stamp of a grant that holds has no room to remember {len(write.changes)} more fields "
        "that were changed: change fewer of them, or use a rule that does not hold"
    )


def _in_words(found: Flaw, stamp: Stamp, write: Write) -> str:
    grant = f"the grant for {stamp.ticket}"
    match found:
        case Flaw.EXPIRED:
            return f"{grant} expired at {moment(stamp.expires)}"
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
            return f"{grant} does not count: {found}"


def tampering(write: Write, policy: Policy, now: datetime) -> str | None:
    """Return what is wrong with the stamps that *write* would leave, if something is.

    A new object has no uid that a stamp could have been issued for: one that it brings is dead.
    """
    before, after = write.glass.before, write.glass.after
    if write.operation is not Operation.UPDATE or before == after:
        return None
    return (
        _with_grant(write, policy, now)
        or _with_request(write, policy, now)
        or _with_approval(write)
        or _with_label(write)
        or _with_owners(write)
    )


def _with_grant(write: Write, policy: Policy, now: datetime) -> str | None:
    old, new = (notes.get(names.GRANT) for notes in (write.glass.before, write.glass.after))
    if old == new and not _is_disowned(write, names.GRANT):
        return None
    if new is None:
        if live_grant(write, policy, now) is None or _ends(write):
            return None
        return "a grant is ended by removing its reason, not its stamp"
    stamp = write.glass.after.grant
    if not isinstance(stamp, Stamp):
        return f"its stamp does not count: {_why(stamp)}"
    wrong = _flaw_of_new(stamp, write, policy, now)
    return f"its stamp does not count: {wrong}" if wrong else None


def _is_disowned(write: Write, name: str) -> bool:
    """Tell whether a token that somebody had brought is nobody's after the write: as if new."""
    return name in write.glass.before.declared - write.glass.after.declared


def _ends(write: Write) -> bool:
    before, after = write.glass.before.texts, write.glass.after.texts
    return names.REASON in before and names.REASON not in after


def _flaw_of_new(stamp: Stamp, write: Write, policy: Policy, now: datetime) -> Flaw | None:
    found = flaw(stamp, policy.cluster, write.target.uid, now)
    if found is not None:
        return found
    theirs = write.actor.name == stamp.approver or admits(stamp, write.actor)
    if not theirs and not _only_remembers(stamp, live_grant(write, policy, now)):
        return Flaw.OTHER_PERSON
    fresh = is_fresh(stamp, write.glass.version, trial=write.dry_run)
    return None if fresh else Flaw.OTHER_VERSION


def _only_remembers(stamp: Stamp, live: Stamp | None) -> bool:
    """Tell whether *stamp* is *live* but for the fields that it remembers.

    Somebody with a grant on the Namespace may write to what another has a grant on.
    """
    alike = {"held": (), "version": "", "trial": False}
    return live is not None and (
        msgspec.structs.replace(stamp, **alike) == msgspec.structs.replace(live, **alike)
    )


def _with_request(write: Write, policy: Policy, now: datetime) -> str | None:
    old, new = (notes.get(names.REQUEST) for notes in (write.glass.before, write.glass.after))
    if old == new and not _is_disowned(write, names.REQUEST):
        return None
    if new is None:
        after = write.glass.after
        over = names.REASON not in after.texts or waiting_petition(write, policy, now) is None
        decided = after.get(names.GRANT) != write.glass.before.get(names.GRANT)
        return None if over or decided else "a request is withdrawn by removing its reason"
    petition = write.glass.after.petition
    if not isinstance(petition, Petition):
        return f"its request does not count: {_why(petition)}"
    genuine = (
        waits(petition, policy.cluster, write.target.uid, now)
        and petition.version == write.glass.version != ""
        and (petition.actor, petition.actor_uid) == (write.actor.name, write.actor.uid)
        and petition.trial == write.dry_run
    )
    return None if genuine else "its request was not made in this write"


def _with_approval(write: Write) -> str | None:
    before, after = write.glass.before, write.glass.after
    if before.get(names.APPROVAL) == after.get(names.APPROVAL):
        return None
    right = names.PENDING if names.REQUEST in after.texts else None
    if after.get(names.APPROVAL) == right:
        return None
    return f"{names.APPROVAL} is not for people to write; an approver sets {names.APPROVE}"


def _with_label(write: Write) -> str | None:
    before, after = write.glass.before, write.glass.after
    if before.active == after.active or not is_namespace(write.target):
        return None
    if after.active == (names.GRANT in after.texts):
        return None
    return f"the label {names.ACTIVE} comes and goes with a grant"


def _with_owners(write: Write) -> str | None:
    """Return that a token is, or becomes, somebody's own: as theirs none would count.

    Also where the webhook has taken theirs off: who owns the field would own the next one.
    """
    before, after = write.glass.before, write.glass.after
    new = frozenset(name for name in TOKENS if before.get(name) != after.get(name))
    spoiled = (after.owned - before.owned) | (after.declared - before.declared)
    if not spoiled | (after.declared & new):
        return None
    return f"its stamp would not count: {WHY}"


def _why(token: object) -> str:
    return token.why if isinstance(token, Unreadable) else "there is none"


_UNSTAMPED: Final = (
    "the request was not stamped: Glasswarden's mutating webhook is out of reach, or has no key"
)


def touches_glass(write: Write, policy: Policy, now: datetime) -> bool:
    """Tell whether *write* has anything to do with a grant but perhaps to use one."""
    if write.glass.before == write.glass.after:
        return False
    wants = intent_of(write, policy, now) is not Intent.NOTHING
    return wants or tampering(write, policy, now) is not None


def grant_use(write: Write, policy: Policy, now: datetime) -> GrantUse | str:
    """Return what *write* may do by the rules of break-glass, or why it may not.

    Forged stamps have been refused before: what is new on the object is the webhook's.
    """
    match intent_of(write, policy, now):
        case Intent.ASK:
            return _asked(write, policy, now)
        case Intent.APPROVE:
            return _approved(write, policy, now)
        case Intent.CLOSE:
            return _closed(write, policy, now)
        case Intent.SETTLE:
            return _settled(write, policy, now)
        case Intent.NOTHING:
            return _used(write, policy, now)


def _asked(write: Write, policy: Policy, now: datetime) -> GrantUse | str:
    judgement = judge_request(write, policy, now)
    if isinstance(judgement, Refused):
        return judgement.why
    if not isinstance(judgement, Granted):
        return _petitioned(write)
    stamp = _new_stamp(write)
    if stamp is None or not _fits(stamp, judgement, write):
        return _UNSTAMPED
    why = objection(Cover(stamp, namespaced=False), write, policy, now) if write.changes else None
    if why is not None:
        return why
    return _use(Act.EXTENDED if judgement.extends else Act.ISSUED, stamp, write)


def _approved(write: Write, policy: Policy, now: datetime) -> GrantUse | str:
    judgement = judge_approval(write, policy, now)
    if isinstance(judgement, Refused):
        return judgement.why
    stamp = _new_stamp(write)
    if stamp is None or stamp.approver != write.actor.name or not _fits(stamp, judgement, write):
        return _UNSTAMPED
    return _use(Act.APPROVED, stamp, write)


def _closed(write: Write, policy: Policy, now: datetime) -> GrantUse | str:
    refused = judge_closing(write, policy, now)
    if refused is not None:
        return refused.why
    text = write.glass.after.get(names.OUTCOME)
    outcome = parse_outcome(text) if text is not None else Outcome("")
    if outcome is None:
        return no_outcome(text or "")
    why = _uncovered(write, policy, now)
    if why is not None:
        return why
    live, petition = live_grant(write, policy, now), waiting_petition(write, policy, now)
    reason = write.glass.before.get(names.REASON) or ""
    if live is not None:
        return _use(Act.CLOSED, live, write, reason, outcome.word)
    if petition is None:
        return "there is nothing to end"
    return GrantUse(
        petition.id, Act.CLOSED, petition.actor, petition.rule, petition.ticket, reason, None
    )


def _settled(write: Write, policy: Policy, now: datetime) -> GrantUse | str:
    text = write.glass.after.get(names.OUTCOME) or ""
    outcome = parse_outcome(text)
    if outcome is None:
        return no_outcome(text)
    stamp = ended_grant(write, policy)
    if stamp is not None and outcome.grant not in {"", stamp.id}:
        stamp = None  # they speak of an earlier one
    if stamp is not None and stamp.namespace:
        return "the grant was one on the Namespace: say there what became of the changes"
    if stamp is None and not outcome.grant:
        return (
            "no grant is left on the object: say of which one, as `glasswarden grants` shows it, "
            f"with {names.OUTCOME}={outcome.word}:ID"
        )
    refused = judge_settling(write, policy, stamp)
    if refused is not None:
        return refused.why
    why = _uncovered(write, policy, now)
    if why is not None:
        return why
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


def _uncovered(write: Write, policy: Policy, now: datetime) -> str | None:
    """Return why what else the write changes is under no grant, if it changes anything."""
    cover = cover_of(write, policy, now) if write.changes else None
    if not isinstance(cover, str):
        return None
    return cover or "nobody has broken the glass for what else it changes"


def _used(write: Write, policy: Policy, now: datetime) -> GrantUse | str:
    cover = cover_of(write, policy, now)
    if isinstance(cover, str):
        return cover
    notes = write.glass.namespace if cover.namespaced else write.glass.before
    return _use(
        Act.USED, cover.stamp, write, notes.get(names.REASON) or "", within=cover.namespaced
    )


def _petitioned(write: Write) -> GrantUse | str:
    petition = write.glass.after.petition
    if not isinstance(petition, Petition) or not _is_new(write, names.REQUEST):
        return _UNSTAMPED
    return GrantUse(
        petition.id,
        Act.REQUESTED,
        petition.actor,
        petition.rule,
        petition.ticket,
        write.glass.after.get(names.REASON) or "",
        petition.deadline,
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
    """Tell whether *stamp* says what was asked for."""
    return (
        stamp.ticket == write.glass.after.get(names.TICKET)
        and stamp.expires - stamp.start == granted.ttl
        and stamp.rule == granted.rule.name
    )
