"""What a decided write leaves in the ledger."""

import hashlib
from datetime import datetime
from typing import Any, Final

import msgspec

from glasswarden.kube.diff import ABSENT, Change
from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Entry, new_id
from glasswarden.policy.decision import Decision
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write

LARGEST_VALUE: Final = 4096
"""Bytes of JSON; a record is read by people, and kept for years."""

_encoder = msgspec.json.Encoder(order="sorted")

MOST_CHANGES: Final = 200
"""More than a person makes at once; a list of ten thousand items turned round has twice as many."""


def entry_of(
    write: Write, decision: Decision, policy: Policy, now: datetime, random: bytes
) -> Entry:
    """Return the ledger's entry for *write*; *random* sets it apart from others of that instant."""
    ref, owner = write.target, write.owner
    return Entry(
        id=new_id(now, random),
        cluster=policy.cluster,
        time=now,
        verdict=decision.verdict,
        clause=decision.clause,
        mode=decision.mode or "",
        policy=policy.digest,
        actor=write.actor.name,
        groups=write.actor.groups,
        manager=write.manager,
        operation=write.operation,
        group=ref.group,
        version=ref.version,
        kind=ref.kind,
        namespace=ref.namespace or "",
        name=ref.name,
        object_uid=ref.uid,
        subresource=write.subresource,
        engine=owner.engine if owner else "",
        app=owner.app if owner else "",
        app_namespace=(owner.namespace or "") if owner else "",
        changes=tuple(_change(ref, change, policy) for change in write.changes[:MOST_CHANGES]),
        unlisted=max(0, len(write.changes) - MOST_CHANGES),
    )


def _change(ref: Ref, change: Change, policy: Policy) -> dict[str, Any]:
    """Return *change* as stored: a value that was not there is left out, not null.

    Of a value that is too large to keep, its length and digest stay: it can still be recognised.
    """
    stored: dict[str, Any] = {"path": str(change.path), "manager": change.manager}
    if policy.hides(ref, change):
        return stored | {"hidden": True}
    for name, value in (("old", change.old), ("new", change.new)):
        if value is ABSENT:
            continue
        encoded = _encoder.encode(value)
        if len(encoded) <= LARGEST_VALUE:
            stored[name] = value
        else:
            digest = hashlib.sha256(encoded).hexdigest()
            stored[f"{name}_cut"] = {"length": len(encoded), "sha256": digest}
    return stored
