"""What a write does with a grant, judged by what is about to be stored."""

from datetime import datetime
from typing import Final

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.grant import Act, GrantUse
from glasswarden.policy.breakglass.outcome import Outcome, no_outcome, parse_outcome
from glasswarden.policy.breakglass.petition import Petition
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.breakglass.stamp import Stamp
from glasswarden.policy.covering import Cover, cover_of, objection
from glasswarden.policy.ending import judge_closing, judge_settling
from glasswarden.policy.intent import (
    Intent,
    ended_grant,
    intent_of,
    live_grant,
    waiting_petition,
)
from glasswarden.policy.judgement import (
    Granted,
    Refused,
    judge_approval,
    judge_request,
)
from glasswarden.policy.policy import Policy
from glasswarden.policy.tampering import tampering
from glasswarden.policy.write import Write

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
