"""The use case: a review is read, decided, recorded, answered. Nothing else happens here."""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from glasswarden.cluster.client import ApiServerError
from glasswarden.kube.objects import Object, ref_of
from glasswarden.ledger.errors import LedgerError
from glasswarden.logs import ALWAYS, Sampler, is_always_told
from glasswarden.policy.breakglass.annotations import Unreadable
from glasswarden.policy.decide import decide, without_record
from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.messages import event_of
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import rule_for
from glasswarden.policy.write import Write
from webhook.caches import Parents
from webhook.clock import TimeSource, machine_time
from webhook.context import Reader
from webhook.events import EventPublisher
from webhook.git_sources import Sources, located
from webhook.metrics import GRANTS, STAMPS_REJECTED, UNRECORDED, reviews_counter_of
from webhook.recording.entry import entry_of
from webhook.recording.recorder import Recorder
from webhook.reloading import Rules
from webhook.review import OwnerUndetermined, Request, parse_review, render_answer

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Admission:
    """Answers reviews by the policy in force and records them in one ledger."""

    rules: Rules
    recorder: Recorder
    parents: Parents | None = None
    """Who is asked whose object a Scale scales; none where the API server cannot be reached."""

    sources: Sources | None = None
    """Who knows where in Git an application is described."""

    reader: Reader = field(default_factory=Reader)
    """Who makes a `Write` of a request, stamps verified."""

    event_publisher: EventPublisher | None = None
    """Who tells of grants and refusals on the objects; none where nobody is to be told."""

    sampler: Sampler = field(default_factory=Sampler)
    """Who says which decisions get a line in the log."""

    clock: TimeSource = machine_time

    async def validate(self, body: bytes) -> bytes:
        """Return the answer to the AdmissionReview in *body*."""
        # Read once: a reload while this review waits counts for the next one.
        request, policy = parse_review(body), self.rules.policy
        write, decision, now = await self._decide(request, policy)
        if decision.clause is Clause.GUARD and rule_for(write, policy, now) is not None:
            # A grant of a moment ago may not be in memory yet, least of all in a script.
            with suppress(OwnerUndetermined):
                write, decision, now = await self._decide(request, policy, fresh=True)
        self._look_at_stamp(write)
        if decision.message or decision.warnings:
            decision = self._with_source(write, policy, now) or decision
        audit: dict[str, str] = {}
        if decision.recorded and not write.dry_run:
            try:
                audit = await self._record(request, write, decision, policy, now)
            except LedgerError as error:
                decision = self._without_record(write, decision, policy, error)
                self._log(write, decision, record="")
            self._count(decision, write)
            self._tell(decision, write)
        reviews_counter_of(decision.verdict, decision.clause, decision.mode or "").inc()
        return render_answer(request.uid, decision, audit)

    async def _decide(
        self, request: Request, policy: Policy, *, fresh: bool = False
    ) -> tuple[Write, Decision, datetime]:
        """Return what *policy* says now, about the objects in memory or, *fresh*, the real ones."""
        scales = request.sub_resource == "scale"
        parent = await self._parent(request, fresh=fresh) if scales else None
        now = self.clock()
        write = await self.reader.write_of(request, policy, now, parent, fresh=fresh)
        return write, decide(write, policy, now), now

    def _with_source(self, write: Write, policy: Policy, now: datetime) -> Decision | None:
        """Return the decision with where to go instead, if that is known.

        Only somebody who was told something reads it, so nobody else's write has it looked up. What
        is written about an engine's own object without marks is not where that object is described.
        """
        if self.sources is None or write.owner is None or not write.marked:
            return None
        source = self.sources.known(located(write.owner, policy))
        return decide(replace(write, source=source), policy, now) if source else None

    def _look_at_stamp(self, write: Write) -> None:
        """Say that an object carries a stamp which counts no longer: its key was revoked."""
        stamp = write.glass.before.grant
        if isinstance(stamp, Unreadable) and not write.dry_run:
            log.warning("stamp refused", object=str(write.target), reason=stamp.why)
            STAMPS_REJECTED.inc()

    def _count(self, decision: Decision, write: Write) -> None:
        if decision.grant is not None:
            GRANTS.labels(decision.grant.act).inc()
            self.reader.tally.note(decision.grant, write)

    def _tell(self, decision: Decision, write: Write) -> None:
        event = event_of(write, decision) if self.event_publisher is not None else None
        if self.event_publisher is not None and event is not None:
            self.event_publisher.publish(event)

    async def _parent(self, request: Request, *, fresh: bool) -> Object:
        """Return the object that a Scale scales, or raise `OwnerUndetermined`."""
        if self.parents is None:
            raise OwnerUndetermined(
                "whose object is scaled is not known: no access to the API server"
            )
        before = request.old_object or request.object or {}
        resource = request.resource
        found = self.parents.cached(resource, before)
        if found is not None and not fresh:
            return found
        scale = ref_of(before)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                None, self.parents.read, resource, scale.namespace, scale.name
            )
        except ApiServerError as error:
            raise OwnerUndetermined(
                f"whose object is scaled could not be looked up: {error}"
            ) from error

    async def _record(
        self, request: Request, write: Write, decision: Decision, policy: Policy, now: datetime
    ) -> dict[str, str]:
        """Store the write as *policy* decided it; return what the audit log should witness."""
        masks = self.recorder.masks
        entry = entry_of(request, write, decision, policy, masks, now, os.urandom(10))
        record = await self.recorder.record(entry)
        # The log is for later: the answer goes first.
        asyncio.get_running_loop().call_soon(self._log, write, decision, entry.id)
        # Of annotations with one name the API server keeps the first only, and it asks several
        # times about a write that it tries again, or about a collection: each has its own as well.
        return {"record": entry.id, "chain": record.digest, entry.id: record.digest}

    def _log(self, write: Write, decision: Decision, record: str) -> None:
        weight = self.sampler.weight(decision)
        if not weight:
            return
        log.info(
            "write decided",
            verdict=decision.verdict,
            clause=decision.clause,
            actor=write.actor.name,
            object=str(write.target),
            record=record,
            **({"one_of": weight} if weight > 1 else {}),
            **({ALWAYS: True} if is_always_told(decision) else {}),
        )

    def _without_record(
        self, write: Write, decision: Decision, policy: Policy, error: LedgerError
    ) -> Decision:
        """Return what *policy* makes of its *decision*, which is in no ledger and no spool."""
        outcome = without_record(decision, write, policy)
        self.recorder.count_unrecorded(str(error), is_allowed=outcome.allowed)
        UNRECORDED.labels("allowed" if outcome.allowed else "refused").inc()
        return outcome
