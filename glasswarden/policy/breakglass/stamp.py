"""The stamp: a grant as it stands on the object, signed, and checked with nothing but keys.

Issued only by the mutating webhook. The validating webhook lets a stamp that was not there before
be stored only if it was issued for the very version of the object that is being written to
(`is_fresh`): whatever is stored moves that version, so a stamp is good for being stored once, and
neither a replay nor a copy ever counts.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from glasswarden.keys.ring import Ring
from glasswarden.policy.actor import Actor
from glasswarden.policy.breakglass.token import Tokens
from glasswarden.policy.operation import GrantOperation

SKEW: Final = timedelta(seconds=30)
"""How far apart the clocks of two replicas may be. A grant counts on all of them as soon as one has
given it, and each ends it to the second by its own clock: up to that much earlier or later."""


class Stamp(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was granted: to whom, on what, until when, and which fields were changed under it."""

    id: str
    """The grant's own; an extension and the stamps of later writes keep it."""
    cluster: str
    uid: str
    """Of the object; for a grant on a Namespace, of the Namespace."""
    version: str
    """The resourceVersion that the object had before the write which brought this stamp."""
    actor: str
    actor_uid: str = ""
    groups: tuple[str, ...] = ()
    """Whose members may use it too; none unless the rule shares its grants."""
    approver: str = ""
    rule: str
    ticket: str
    operations: tuple[GrantOperation, ...]
    start: datetime
    expires: datetime
    hold: bool = True
    """Whether the owner's reconciler is kept from reverting what was changed."""
    held: tuple[str, ...] = ()
    """The paths of the fields that were changed under the grant."""
    namespace: str = ""
    """The uid of the Namespace whose grant this follows from. Such a stamp remembers held fields;
    it permits nothing by itself."""
    trial: bool = False
    """Made in a dry run, whose answer shows it to the person: never good for a real write."""


class Flaw(StrEnum):
    """Why a genuine stamp does not count here and now."""

    OTHER_CLUSTER = "it was issued in another cluster"
    OTHER_OBJECT = "it was issued for another object"
    OTHER_PERSON = "it was issued to somebody else"
    TOO_EARLY = "it is not valid yet"
    EXPIRED = "it has expired"
    OTHER_OPERATION = "it does not cover this operation"
    OTHER_VERSION = "it was issued for another write"


_TOKENS: Final = Tokens("breakglass/grant/v1", Stamp)


def issue(stamp: Stamp, ring: Ring, now: datetime) -> str:
    """Return *stamp* as a signed token; raise `NoKey` where nothing can sign."""
    return _TOKENS.issue(stamp, ring, now)


def read(token: str, ring: Ring) -> Stamp:
    """Return the stamp in *token*, or raise `TokenInvalid`."""
    return _TOKENS.read(token, ring)


def flaw(stamp: Stamp, cluster: str, uid: str, now: datetime) -> Flaw | None:
    """Return why *stamp* is not a live grant on the object with *uid*, if it is not."""
    if stamp.cluster != cluster:
        return Flaw.OTHER_CLUSTER
    if stamp.uid != uid or not uid:
        return Flaw.OTHER_OBJECT
    if now < stamp.start - SKEW:
        return Flaw.TOO_EARLY
    return Flaw.EXPIRED if now >= stamp.expires else None


def check(
    stamp: Stamp, *, cluster: str, uid: str, actor: Actor, operation: GrantOperation, now: datetime
) -> Flaw | None:
    """Return why *stamp* does not let *actor* do *operation* to the object, if it does not."""
    found = flaw(stamp, cluster, uid, now)
    if found is not None:
        return found
    if not admits(stamp, actor):
        return Flaw.OTHER_PERSON
    return None if operation in stamp.operations else Flaw.OTHER_OPERATION


def admits(stamp: Stamp, actor: Actor) -> bool:
    """Tell whether *actor* is who was granted, or shares in it by a group."""
    if actor.name == stamp.actor:
        # A name that was deleted and made anew belongs to somebody else.
        return actor.uid == stamp.actor_uid
    return not set(stamp.groups).isdisjoint(actor.groups)


def is_fresh(stamp: Stamp, version: str, *, trial: bool) -> bool:
    """Tell whether *stamp* was issued for a write to the object at *version*, and in earnest."""
    return stamp.version == version != "" and stamp.trial == trial
