"""What a decided write leaves in the ledger."""

import hashlib
from datetime import datetime
from itertools import islice
from typing import Any, Final

import msgspec

from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change
from glasswarden.kube.objects import Object, Ref, metadata_of
from glasswarden.kube.verbs import infer_verb
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import FORMAT, Attempt, ChangedField, Cut, new_id
from glasswarden.policy.breakglass.tokens import GrantUse
from glasswarden.policy.case import Case
from glasswarden.policy.decision import Decision
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write
from webhook.review import Request

LARGEST_VALUE: Final = 4096
"""Bytes of JSON; a record is read by people, and kept for years."""

MOST_CHANGES: Final = 200
"""More than a person makes at once; a list of ten thousand items turned round has twice as many."""

MOST_EXTRA: Final = 32
"""Keys, and values of each: authenticators add a few, of a credential, a session or a device."""

LONGEST_EXTRA: Final = 256
"""Characters of a key or a value. What is longer names nobody, may be a token, and is left out."""

CREDENTIALS: Final = frozenset({"user-assertion.cloud.google.com"})
"""Keys whose values prove something to somebody: no record is the place for them."""

_encoder = msgspec.json.Encoder(order="sorted")


def entry_of(
    request: Request, case: Case, decision: Decision, masks: Masks, random: bytes
) -> Attempt:
    """Return the ledger's entry for *case*; *random* sets it apart from others of that instant."""
    write, policy, now = case.write, case.policy, case.now
    ref, owner = write.target, write.owner
    old, new = request.old_object or {}, request.object or {}
    manager_operation = next((change.operation for change in write.changes), "")
    changes = tuple(_change(ref, each, policy, masks, now) for each in write.changes[:MOST_CHANGES])
    return Attempt(
        format=FORMAT,
        id=new_id(now, random),
        time=now,
        cluster=policy.cluster,
        verdict=str(decision.verdict),
        clause=str(decision.clause),
        mode=str(decision.mode or ""),
        policy=policy.digest,
        actor=write.actor.name,
        actor_uid=write.actor.uid,
        groups=write.actor.groups,
        extra=_extra(request),
        manager=write.manager,
        manager_operation=manager_operation,
        inferred_verb=infer_verb(
            write.operation, write.subresource, write.manager, manager_operation
        ),
        operation=str(write.operation),
        group=ref.group,
        version=ref.version,
        kind=ref.kind,
        resource=request.resource.resource,
        subresource=write.subresource,
        namespace=ref.namespace,
        name=ref.name,
        object_uid=ref.uid,
        old_resource_version=_text(old, "resourceVersion"),
        new_resource_version=_text(new, "resourceVersion"),
        generation=write.generation,
        engine=owner.engine if owner else "",
        app=owner.app if owner else "",
        app_kind=owner.kind if owner else "",
        app_namespace=(owner.namespace or "") if owner else "",
        changes=changes,
        unlisted=max(0, len(write.changes) - MOST_CHANGES),
        fingerprint=_fingerprint(write, changes),
        **_grant(decision.grant),
    )


def _grant(use: GrantUse | None) -> dict[str, Any]:
    """Return the grant as it is recorded."""
    if use is None:
        return {}
    return {
        "grant": use.id,
        "grant_act": str(use.act),
        "grant_rule": use.rule,
        "grant_expires": use.expires,
        "grantee": use.actor,
        "approver": use.approver,
        "ticket": use.ticket,
        "reason": use.reason,
        "outcome": use.outcome,
    }


def _extra(request: Request) -> dict[str, tuple[str, ...]]:
    """Return what the authenticator gave beyond name and groups, within bounds.

    The API server's own name the credential; those of clouds, whose session.
    """
    kept = (
        (name, tuple(each for each in values[:MOST_EXTRA] if len(each) <= LONGEST_EXTRA))
        for name, values in sorted(request.user_info.extra.items())
        if name not in CREDENTIALS and len(name) <= LONGEST_EXTRA
    )
    return dict(islice(((name, values) for name, values in kept if values), MOST_EXTRA))


def _text(obj: Object, name: str) -> str:
    value = metadata_of(obj).get(name)
    return value if isinstance(value, str) else ""


def _fingerprint(write: Write, changes: tuple[ChangedField, ...]) -> str:
    """Return what the attempts of one write have in common, and other writes do not.

    Old values are not in it: when the API server tries again, the object has moved meanwhile.
    """
    meant = [(each.path, _plain(each.new), each.new_masked, each.new_cut) for each in changes]
    parts = (write.actor.name, write.operation, write.subresource, write.manager, meant)
    return hashlib.sha256(_encoder.encode(parts)).hexdigest()[:16]


def _plain(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON value
    return [] if value is msgspec.UNSET else [value]


def _change(ref: Ref, change: Change, policy: Policy, masks: Masks, now: datetime) -> ChangedField:
    """Return *change* as stored: a value that was not there is left out, not null."""
    path = str(change.path)
    hidden = policy.hides(ref, change)
    stored: dict[str, Any] = {}
    for name, value in (("old", change.old), ("new", change.new)):
        if value is ABSENT:
            continue
        if hidden:
            stored[f"{name}_masked"] = masks.mask(path, value, now)
            continue
        encoded = _encoder.encode(value)
        if len(encoded) <= LARGEST_VALUE:
            stored[name] = value
        else:
            stored[f"{name}_cut"] = Cut(len(encoded), hashlib.sha256(encoded).hexdigest())
    return ChangedField(path=path, manager=change.manager, **stored)
