"""Whether a grant lets a write pass: the operation, the place, and every field that changes."""

from dataclasses import dataclass
from datetime import datetime

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.declared import WHY
from glasswarden.policy.breakglass.held import merged
from glasswarden.policy.breakglass.moment import moment
from glasswarden.policy.breakglass.notes import Unreadable
from glasswarden.policy.breakglass.stamp import Flaw, Stamp, check
from glasswarden.policy.intent import live_grant
from glasswarden.policy.judgement import rule_for
from glasswarden.policy.policy import Policy
from glasswarden.policy.terms import broken_term, operation_of, outranked
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
