"""What a write means for break-glass, read from the annotations before and after it."""

from datetime import datetime
from enum import Enum

import msgspec

from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.notes import Glass
from glasswarden.policy.breakglass.petition import Petition
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.breakglass.stamp import Stamp, flaw
from glasswarden.policy.policy import Policy
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
