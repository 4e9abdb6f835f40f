"""Entries, chains and keys for tests that name only what matters to them."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from glasswarden.keys.ring import Key, Ring
from glasswarden.ledger.chain import Chain, Signer, new_opening
from glasswarden.ledger.keys import Keys
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import (
    FORMAT,
    AnyEntry,
    Attempt,
    ChangedField,
    Gap,
    Head,
    Opened,
    Record,
    Tombstone,
    new_id,
)

TIME = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SIGNER = Signer(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
MASKS = Masks(Ring([Key("1", b"k" * 32, datetime(1970, 1, 1, tzinfo=UTC))]))
KEYS = Keys(SIGNER, MASKS)
_count = itertools.count()


def an_attempt(**differing: Any) -> Attempt:  # noqa: ANN401 - any field of an attempt
    """Return an attempt of its own instant, like any other but for *differing*."""
    time = differing.get("time", TIME + timedelta(milliseconds=next(_count)))
    fields: dict[str, Any] = {
        "format": FORMAT,
        "id": new_id(time, _unlike_others()),
        "cluster": "test",
        "time": time,
        "verdict": "deny",
        "clause": "guard",
        "mode": "enforce",
        "policy": "c0ffee",
        "actor": "developer",
        "groups": ("developers",),
        "manager": "kubectl-edit",
        "operation": "UPDATE",
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "namespace": "shop",
        "name": "web",
        "object_uid": "0b6f9e0c",
        "engine": "flux",
        "app": "shop",
        "app_namespace": "flux-system",
        "changes": (ChangedField(path="/spec/replicas", old=3, new=5),),
    }
    return Attempt(**fields | differing)


def a_chain(writer: str = "writer-1") -> Chain:
    """Return a chain that nothing has been recorded in."""
    return Chain(writer, SIGNER)


def records_of(*entries: AnyEntry, writer: str = "writer-1") -> list[Record]:
    """Return *entries* as the first records of *writer*'s chain."""
    return a_chain(writer).link(entries)


def an_opening(*heads: Head, **differing: Any) -> Opened:  # noqa: ANN401 - any field of it
    """Return the entry that begins a chain and witnesses *heads*."""
    return replace(new_opening("test", heads, SIGNER, TIME, _unlike_others()), **differing)


def a_tombstone(chain: str, through: int, **differing: Any) -> Tombstone:  # noqa: ANN401
    """Return the entry that says *chain* was cut *through* a place."""
    stone = Tombstone(
        format=FORMAT,
        id=new_id(TIME, _unlike_others()),
        time=TIME,
        cluster="test",
        public_key=SIGNER.public_key,
        chain=chain,
        through=through,
        digest="d" * 64,
        count=through,
        sum="5" * 64,
    )
    return replace(stone, **differing)


def a_gap(**differing: Any) -> Gap:  # noqa: ANN401 - any field of it
    """Return the entry that says writes of a minute went unrecorded."""
    time = differing.get("time", TIME)
    gap = Gap(
        format=FORMAT,
        id=new_id(time, _unlike_others()),
        time=time,
        cluster="test",
        since=time - timedelta(minutes=1),
        until=time,
        count=1,
        why="the database was away",
    )
    return replace(gap, **differing)


def _unlike_others() -> bytes:
    return next(_count).to_bytes(10, "big")
