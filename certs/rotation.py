"""Rotation with overlap: what is published, what is served, and when either may change.

Pure: a state, what was observed and the moment go in, the next state comes out. Whoever calls
`advance` again and again, after a crash too, is led through the same steps:

1. a new authority and its certificate are made; both authorities are published
2. once every webhook configuration holds the new authority, and API servers had time to read it,
   the new certificate is served
3. once every replica had time to take it up, the old authority leaves

So at no moment is a certificate served that some API server has no authority for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certs.authority import (
    BACKDATE,
    SERVING_LIFETIME,
    KeyPair,
    is_issued_by,
    names_of,
    new_authority,
    new_serving_pair,
    spelled,
)


class Phase(StrEnum):
    """How far a rotation has come."""

    STEADY = "steady"
    PUBLISHING = "publishing"
    """The new authority is on its way into the configurations; the old certificate is served."""
    OVERLAPPING = "overlapping"
    """The new certificate is served; the old authority is still trusted."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things take."""

    lifetime: timedelta = SERVING_LIFETIME
    """Of a certificate; it is replaced when a third of that is left."""

    settle: timedelta = timedelta(seconds=30)
    """Until every API server has read a configuration that was written."""

    overlap: timedelta = timedelta(hours=1)
    """Until every replica serves a certificate that was stored; kubelet takes minutes."""


@dataclass(frozen=True, slots=True)
class State:
    """What is kept between two steps."""

    authorities: tuple[x509.Certificate, ...]
    """Those to be trusted: the published bundle."""

    serving: KeyPair
    served_since: datetime
    coming: KeyPair | None = None
    """The pair that will be served next; its authority is among `authorities`."""

    published_since: datetime | None = None
    """Since when every configuration has been seen with the coming pair's authority."""

    @property
    def bundle(self) -> bytes:
        """The trusted authorities as PEM."""
        return b"".join(each.public_bytes(Encoding.PEM) for each in self.authorities)

    @property
    def phase(self) -> Phase:
        """How far the rotation has come."""
        if self.coming is not None:
            return Phase.PUBLISHING
        return Phase.OVERLAPPING if len(self.authorities) > 1 else Phase.STEADY

    @property
    def expires(self) -> datetime:
        """When the certificate that is served stops being valid."""
        return self.serving.certificate.not_valid_after_utc


def first_state(hosts: Sequence[str], now: datetime, timing: Timing) -> State:
    """Return a new authority with its certificate, served from the start."""
    authority, pair = _new_generation(hosts, now, timing)
    return State((authority,), pair, served_since=now)


def advance(
    state: State, hosts: Sequence[str], now: datetime, timing: Timing, *, published: bool
) -> State:
    """Return what *state* becomes at *now*; the same state if it is not time for anything.

    *published*: whether every configuration there is was found with the whole bundle; where not, it
    was brought there only now, and API servers have yet to read it.
    """
    if state.coming is not None:
        return _towards_serving(state, state.coming, now, timing, published=published)
    if is_due(state, hosts, now):
        return begin(state, hosts, now, timing)
    if state.phase is Phase.OVERLAPPING and now - state.served_since >= timing.overlap:
        return replace(state, authorities=_issuers_of(state, state.serving))
    return state


def is_due(state: State, hosts: Sequence[str], now: datetime) -> bool:
    """Tell whether the certificate wants replacing: for its age, or for other hosts."""
    certificate = state.serving.certificate
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc - BACKDATE
    return state.expires - now <= lifetime / 3 or {*names_of(certificate)} != {*spelled(hosts)}


def begin(state: State, hosts: Sequence[str], now: datetime, timing: Timing) -> State:
    """Return *state* with a rotation under way; one that is under way goes on."""
    if state.coming is not None:
        return state
    authority, pair = _new_generation(hosts, now, timing)
    return replace(state, authorities=(*state.authorities, authority), coming=pair)


def next_change(state: State, timing: Timing) -> datetime | None:
    """Return the earliest moment of the next step, where the clock alone decides about it."""
    if state.coming is not None:
        return None if state.published_since is None else state.published_since + timing.settle
    if state.phase is Phase.OVERLAPPING:
        return state.served_since + timing.overlap
    certificate = state.serving.certificate
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc - BACKDATE
    return state.expires - lifetime / 3


def _towards_serving(
    state: State, coming: KeyPair, now: datetime, timing: Timing, *, published: bool
) -> State:
    since = state.published_since
    if since is None or not published:
        return replace(state, published_since=now)
    if now - since < timing.settle:
        return state
    return replace(state, serving=coming, served_since=now, coming=None, published_since=None)


def _issuers_of(state: State, pair: KeyPair) -> tuple[x509.Certificate, ...]:
    return tuple(each for each in state.authorities if is_issued_by(pair.certificate, each))


def _new_generation(
    hosts: Sequence[str], now: datetime, timing: Timing
) -> tuple[x509.Certificate, KeyPair]:
    """Return an authority that has signed one certificate; its key is gone by then."""
    authority = new_authority(now, timing.lifetime)
    return authority.certificate, new_serving_pair(authority, hosts, now, timing.lifetime)
