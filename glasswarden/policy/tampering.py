"""Whether what only the webhook writes was written by somebody else.

Asked of what is about to be stored, after every mutating webhook has had its turn: whatever their
order, and whether or not ours was among them, a stamp that was not there before is stored only if
it was issued for this very write.
"""

from datetime import datetime

import msgspec

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.declared import TOKENS, WHY
from glasswarden.policy.breakglass.notes import Unreadable
from glasswarden.policy.breakglass.petition import Petition, waits
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.breakglass.stamp import Flaw, Stamp, admits, flaw, is_fresh
from glasswarden.policy.intent import live_grant, waiting_petition
from glasswarden.policy.operation import Operation
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write


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
