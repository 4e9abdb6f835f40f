"""The use case of the mutating webhook: a review is read, and our annotations are patched onto it.

Where a hold is in force, a reconciler's write under a grant also keeps the held fields at their
live values. It denies nothing and records nothing: both are the validating webhook's, which sees
the object after every other mutating webhook.
"""

import base64
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import structlog

from glasswarden.keys.ring import NoKey, Ring
from glasswarden.kube.objects import Object, annotations_of, labels_of, metadata_of
from glasswarden.kube.patch import build_json_patch
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.breakglass.tokens import GrantRequest, Stamp, issue_request, issue_stamp
from glasswarden.policy.case import Case, is_by_reconciler
from glasswarden.policy.grants import may_lack_grant
from glasswarden.policy.holds import Holding, apply_hold
from glasswarden.policy.stamping import Annotations, annotations_for
from glasswarden.policy.write import Write
from webhook.clock import TimeSource, machine_time
from webhook.context import Reader
from webhook.metrics import HELD_WRITES
from webhook.reloading import Rules
from webhook.review import Request, parse_review, render_patch_answer

Edit: TypeAlias = dict[str, Any]
"""One operation of a JSON Patch (RFC 6902)."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Mutation:
    """Answers reviews with the stamps that the policy in force gives."""

    rules: Rules
    reader: Reader
    clock: TimeSource = machine_time

    async def mutate(self, body: bytes) -> bytes:
        """Return the answer to the AdmissionReview in *body*."""
        request, policy, now = parse_review(body), self.rules.policy, self.clock()
        case = await self.reader.case_of(request, policy, now)
        if may_lack_grant(case):
            # One of a moment ago, on the Namespace, may not be in memory yet.
            case = await self.reader.case_of(request, policy, now, fresh=True)
        annotations = annotations_for(case, new_id())
        holding = hold_of(request, case)
        if holding is None:
            return self._answer(request, case, annotations, request.object or {})
        if holding.stamp is not None:
            annotations = {**annotations, names.GRANT: holding.stamp}
        return self._answer(request, case, annotations, holding.object)

    def _answer(
        self, request: Request, case: Case, annotations: Annotations, becomes: Object
    ) -> bytes:
        """Return the answer that makes *becomes* of what was sent, and sets *annotations* on it."""
        try:
            signed = sign_annotations(annotations, self.reader.keys.ring, case.now)
        except NoKey:
            target = str(case.write.target)
            log.warning("nothing stamped", reason="there is no key", object=target)
            signed = {}
        put_back = build_json_patch(request.object or {}, becomes)
        if put_back and not case.write.dry_run:
            HELD_WRITES.inc()
        return render_patch_answer(request.uid, [*put_back, *patch_of(becomes, signed, case.write)])


def hold_of(request: Request, case: Case) -> Holding | None:
    """Return what becomes of a reconciler's own update under a grant; nothing of other writes."""
    old, new = request.old_object, request.object
    if old is None or new is None or request.sub_resource or not is_by_reconciler(case):
        return None
    return apply_hold(case, old, new)


def new_id() -> str:
    """Return an id for a grant or a request: 80 random bits that a person can type."""
    return base64.b32encode(os.urandom(10)).decode().lower()


def sign_annotations(annotations: Annotations, ring: Ring, now: datetime) -> dict[str, str | None]:
    """Return *annotations* as texts, stamps and requests signed."""
    return {name: _sign(value, ring, now) for name, value in annotations.items()}


def _sign(value: str | Stamp | GrantRequest | None, ring: Ring, now: datetime) -> str | None:
    if isinstance(value, Stamp):
        return issue_stamp(value, ring, now)
    return issue_request(value, ring, now) if isinstance(value, GrantRequest) else value


def patch_of(obj: Object, annotations: Mapping[str, str | None], write: Write) -> Iterator[Edit]:
    """Yield what puts *annotations* onto *obj*, and its label onto a Namespace."""
    yield from _edits(obj, "annotations", annotations_of(obj), annotations)
    if is_namespace(write.target):
        granted = annotations.get(names.GRANT, annotations_of(obj).get(names.GRANT)) is not None
        label = {names.ACTIVE: "true" if granted else None}
        yield from _edits(obj, "labels", labels_of(obj), label)


def _edits(
    obj: Object, field: str, found: Mapping[str, object], wanted: Mapping[str, str | None]
) -> Iterator[Edit]:
    root = f"/metadata/{field}"
    differing = {name: text for name, text in wanted.items() if found.get(name) != text}
    if any(text is not None for text in differing.values()) and not metadata_of(obj).get(field):
        yield {"op": "add", "path": root, "value": {}}
    for name, text in differing.items():
        path = f"{root}/{name.replace('~', '~0').replace('/', '~1')}"
        if text is not None:
            yield {"op": "add", "path": path, "value": text}
        else:
            yield {"op": "remove", "path": path}
