"""A request that waits for a second person: signed, so that what is approved is what was asked."""

import hashlib
from datetime import datetime
from typing import Final

import msgspec

from glasswarden.keys.ring import Ring
from glasswarden.policy.breakglass.token import SignatureWrong, Tokens


class Petition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who asks for what, and until when somebody may approve it."""

    id: str
    """What an approver writes into `approve`."""
    cluster: str
    uid: str
    version: str
    """As in a stamp: the object's, before the write that brought this request."""
    actor: str
    actor_uid: str = ""
    groups: tuple[str, ...] = ()
    rule: str
    ticket: str
    reason: str
    """A digest: the approver has read the reason that stands beside it."""
    ttl: int
    """Seconds, counted from the approval."""
    deadline: datetime
    trial: bool = False
    """Made in a dry run."""


_TOKENS: Final = Tokens("breakglass/request/v1", Petition)


def issue_petition(petition: Petition, ring: Ring, now: datetime) -> str:
    """Return *petition* as a signed token; raise `NoKey` where nothing can sign.

    Its id stands in front, for whoever looks for it with plain kubectl.
    """
    return f"{petition.id}:{_TOKENS.issue(petition, ring, now)}"


def read_petition(token: str, ring: Ring) -> Petition:
    """Return the petition in *token*, or raise `TokenInvalid`."""
    shown, _, signed = token.partition(":")
    petition = _TOKENS.read(signed, ring)
    if petition.id != shown:
        raise SignatureWrong("it shows another id than was signed")
    return petition


def digest_of(reason: str) -> str:
    """Return what a petition keeps of a reason."""
    return hashlib.sha256(reason.encode()).hexdigest()[:16]


def waits(petition: Petition, cluster: str, uid: str, now: datetime) -> bool:
    """Tell whether *petition* is this object's, and can still be approved."""
    return petition.cluster == cluster and petition.uid == uid != "" and now < petition.deadline
