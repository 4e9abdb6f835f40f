"""Rotation with overlap: which authorities are published, which certificate is served, and when.

Pure: the state, the observation and the time go in, the next state comes out. Repeated calls of
`advance`, also after a crash, lead through the same steps:

1. A new authority and its certificate are created; both authorities are published.
2. When every webhook configuration has the new authority, and API servers had time to read it, the
   new certificate is served.
3. When every replica had time to load it, the old authority is removed.

So no certificate is ever served that an API server does not trust.
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
    normalize_hosts,
)


class Phase(StrEnum):
    """The phase of a rotation."""

    STEADY = "steady"
    PUBLISHING = "publishing"
    """The new authority is being published; the old certificate is served."""
    OVERLAPPING = "overlapping"
    """The new certificate is served; the old authority is still trusted."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of a rotation."""

    lifetime: timedelta = SERVING_LIFETIME
    """The lifetime of a certificate; it is replaced when a third of that is left."""

    settle: timedelta = timedelta(seconds=30)
    """The time in which every API server reads a changed configuration."""

    overlap: timedelta = timedelta(hours=1)
    """The time in which every replica loads a stored certificate; kubelet takes minutes."""


@dataclass(frozen=True, slots=True)
class State:
    """What is stored between two steps."""

    authorities: tuple[x509.Certificate, ...]
    """The trusted authorities: the published bundle."""

    serving: KeyPair
    served_since: datetime
    coming: KeyPair | None = None
    """The pair to serve next; its authority is among `authorities`."""

    published_since: datetime | None = None
    """Since when every configuration has had the authority of the coming pair."""

    @property
    def bundle(self) -> bytes:
        """The trusted authorities as PEM."""
        return b"".join(each.public_bytes(Encoding.PEM) for each in self.authorities)

    @property
    def phase(self) -> Phase:
        """The phase of the rotation."""
        if self.coming is not None:
            return Phase.PUBLISHING
        return Phase.OVERLAPPING if len(self.authorities) > 1 else Phase.STEADY

    @property
    def expires(self) -> datetime:
        """The expiry of the served certificate."""
        return self.serving.certificate.not_valid_after_utc


def first_state(hosts: Sequence[str], now: datetime, timing: Timing) -> State:
    """Return a new authority with its certificate, served from the start."""
    authority, pair = _new_generation(hosts, now, timing)
    return State((authority,), pair, served_since=now)


def advance(
    state: State, hosts: Sequence[str], now: datetime, timing: Timing, *, published: bool
) -> State:
    """Return the state that follows *state* at *now*; the same state if no step is due.

    *published*: whether every existing configuration already had the whole bundle. If not, it was
    written only now, and API servers have yet to read it.
    """
    if state.coming is not None:
        return _advance_to_serving(state, state.coming, now, timing, published=published)
    if is_due(state, hosts, now):
        return begin_rotation(state, hosts, now, timing)
    if state.phase is Phase.OVERLAPPING and now - state.served_since >= timing.overlap:
        return replace(state, authorities=_issuers_of(state, state.serving))
    return state


def is_due(state: State, hosts: Sequence[str], now: datetime) -> bool:
    """Return whether the certificate must be replaced: because of its age, or for other hosts."""
    certificate = state.serving.certificate
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc - BACKDATE
    return state.expires - now <= lifetime / 3 or {*names_of(certificate)} != {
        *normalize_hosts(hosts)
    }


def begin_rotation(state: State, hosts: Sequence[str], now: datetime, timing: Timing) -> State:
    """Return *state* with a rotation in progress; one that is in progress continues."""
    if state.coming is not None:
        return state
    authority, pair = _new_generation(hosts, now, timing)
    return replace(state, authorities=(*state.authorities, authority), coming=pair)


def next_change_of(state: State, timing: Timing) -> datetime | None:
    """Return the earliest time of the next step, if only the clock determines it."""
    if state.coming is not None:
        return None if state.published_since is None else state.published_since + timing.settle
    if state.phase is Phase.OVERLAPPING:
        return state.served_since + timing.overlap
    certificate = state.serving.certificate
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc - BACKDATE
    return state.expires - lifetime / 3


def _advance_to_serving(
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
    """Return an authority that has signed one certificate; its key is discarded."""
    authority = new_authority(now, timing.lifetime)
    return authority.certificate, new_serving_pair(authority, hosts, now, timing.lifetime)
