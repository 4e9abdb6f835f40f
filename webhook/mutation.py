"""The use case of the mutating webhook: a review is read, and what is ours is written onto it.

A reconciler's write under a grant is also brought back to what is live, where a hold is in force.
It denies nothing and records nothing: both are the validating webhook's, which sees what becomes of
the object after every other hand.
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
from glasswarden.policy.breakglass.tokens import Petition, Stamp, issue, issue_petition
from glasswarden.policy.grants import may_lack_grant
from glasswarden.policy.holds import Holding, hold, reconciles
from glasswarden.policy.policy import Policy
from glasswarden.policy.stamping import Marks, marks_for
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
        write = await self.reader.write_of(request, policy, now)
        if may_lack_grant(write, policy, now):
            # One of a moment ago, on the Namespace, may not be in memory yet.
            write = await self.reader.write_of(request, policy, now, fresh=True)
        marks = marks_for(write, policy, now, new_id())
        holding = hold_of(request, write, policy, now)
        if holding is None:
            return self._answer(request, write, marks, request.object or {}, now)
        if holding.stamp is not None:
            marks = {**marks, names.GRANT: holding.stamp}
        return self._answer(request, write, marks, holding.object, now)

    def _answer(
        self, request: Request, write: Write, marks: Marks, becomes: Object, now: datetime
    ) -> bytes:
        """Return the answer that makes *becomes* of what was sent, and puts *marks* onto it."""
        try:
            signed = signed_marks(marks, self.reader.keys.ring, now)
        except NoKey:
            log.warning("nothing stamped", reason="there is no key", object=str(write.target))
            signed = {}
        put_back = build_json_patch(request.object or {}, becomes)
        if put_back and not write.dry_run:
            HELD_WRITES.inc()
        return render_patch_answer(request.uid, [*put_back, *patch_of(becomes, signed, write)])


def hold_of(request: Request, write: Write, policy: Policy, now: datetime) -> Holding | None:
    """Return what becomes of a reconciler's own update under a grant; nothing of other writes."""
    old, new = request.old_object, request.object
    if old is None or new is None or request.sub_resource or not reconciles(write, policy):
        return None
    return hold(write, old, new, policy, now)


def new_id() -> str:
    """Return an id for a grant or a request: 80 random bits that a person can type."""
    return base64.b32encode(os.urandom(10)).decode().lower()


def signed_marks(marks: Marks, ring: Ring, now: datetime) -> dict[str, str | None]:
    """Return *marks* as annotations."""
    return {name: _text(mark, ring, now) for name, mark in marks.items()}


def _text(mark: str | Stamp | Petition | None, ring: Ring, now: datetime) -> str | None:
    if isinstance(mark, Stamp):
        return issue(mark, ring, now)
    return issue_petition(mark, ring, now) if isinstance(mark, Petition) else mark


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
