"""The use case of the validating webhook: a review is read, decided, recorded, answered.

The policy is read once per review, and decides, records and answers it. What the writer reads is
rendered last, when it is known what is answered. Nothing else happens here.
"""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from glasswarden.cluster.client import ApiServerError
from glasswarden.kube.engines.engine import GitLocation
from glasswarden.kube.objects import Object, ref_of
from glasswarden.ledger.errors import LedgerError
from glasswarden.logs import ALWAYS, Sampler, is_always_logged
from glasswarden.policy.breakglass.annotations import Unreadable
from glasswarden.policy.case import Case
from glasswarden.policy.decide import decide, decide_unrecorded
from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.messages import names_source, render_denial, render_event, render_warnings
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import rule_of
from webhook.caches import Parents
from webhook.clock import TimeSource, machine_time
from webhook.context import Reader
from webhook.events import EventPublisher
from webhook.git_sources import GitSources, with_namespace
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

    sources: GitSources | None = None
    """Who knows where in Git an application is described."""

    reader: Reader = field(default_factory=Reader)
    """Who makes a `Case` of a request, stamps verified."""

    event_publisher: EventPublisher | None = None
    """Publishes grants and denials as Events on the objects; none where that is turned off."""

    sampler: Sampler = field(default_factory=Sampler)
    """Selects the decisions that get a line in the log."""

    clock: TimeSource = machine_time

    async def validate(self, body: bytes) -> bytes:
        """Return the answer to the AdmissionReview in *body*."""
        # Read once: a reload while this review waits counts for the next one.
        request, policy = parse_review(body), self.rules.policy
        case, decision = await self._decide(request, policy)
        if decision.clause is Clause.GUARD and rule_of(case) is not None:
            # A grant of a moment ago may not be in memory yet, least of all in a script.
            with suppress(OwnerUndetermined):
                case, decision = await self._decide(request, policy, fresh=True)
        self._report_stamp(case)
        audit: dict[str, str] = {}
        if decision.recorded and not case.write.dry_run:
            try:
                audit = await self._record(request, case, decision)
            except LedgerError as error:
                decision = self._decide_unrecorded(case, decision, error)
                self._log(case, decision, record="")
            self._count(case, decision)
            self._publish(case, decision)
        reviews_counter_of(decision.verdict, decision.clause, decision.mode or "").inc()
        return self._answer(request, case, decision, audit)

    async def _decide(
        self, request: Request, policy: Policy, *, fresh: bool = False
    ) -> tuple[Case, Decision]:
        """Return what *policy* decides now, by the objects in memory or, *fresh*, the real ones."""
        scales = request.sub_resource == "scale"
        parent = await self._parent(request, fresh=fresh) if scales else None
        case = await self.reader.case_of(request, policy, self.clock(), parent, fresh=fresh)
        return case, decide(case)

    def _answer(
        self, request: Request, case: Case, decision: Decision, audit: dict[str, str]
    ) -> bytes:
        """Return *decision* as the API server takes it, with what the writer reads about it."""
        source = self._source_of(case) if names_source(decision, case) else None
        message = render_denial(decision, case, source)
        warnings = render_warnings(decision, case, source)
        return render_answer(request.uid, decision, audit, message, warnings)

    def _source_of(self, case: Case) -> GitLocation | None:
        """Return where in Git to change the object instead, if that is known.

        An engine's own object without marks is not described where its own source is.
        """
        owner = case.write.owner
        if self.sources is None or owner is None or not case.write.marked:
            return None
        return self.sources.find_known(with_namespace(owner, case.policy))

    def _report_stamp(self, case: Case) -> None:
        """Log and count that an object carries a stamp which counts no longer: a revoked key's."""
        stamp = case.write.glass.before.grant
        if isinstance(stamp, Unreadable) and not case.write.dry_run:
            log.warning("stamp rejected", object=str(case.write.target), reason=stamp.reason)
            STAMPS_REJECTED.inc()

    def _count(self, case: Case, decision: Decision) -> None:
        if decision.grant is not None:
            GRANTS.labels(decision.grant.act).inc()
            self.reader.tally.note(decision.grant, case.write)

    def _publish(self, case: Case, decision: Decision) -> None:
        event = render_event(decision, case) if self.event_publisher is not None else None
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
        found = self.parents.find_cached(resource, before)
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

    async def _record(self, request: Request, case: Case, decision: Decision) -> dict[str, str]:
        """Store the write as it was decided; return what the audit log should witness."""
        entry = entry_of(request, case, decision, self.recorder.masks, os.urandom(10))
        record = await self.recorder.record(entry)
        # The log is for later: the answer goes first.
        asyncio.get_running_loop().call_soon(self._log, case, decision, entry.id)
        # Of annotations with one name the API server keeps the first only, and it asks several
        # times about a write that it retries, or about a collection: each has its own as well.
        return {"record": entry.id, "chain": record.digest, entry.id: record.digest}

    def _log(self, case: Case, decision: Decision, record: str) -> None:
        weight = self.sampler.weight(decision)
        if not weight:
            return
        log.info(
            "write decided",
            verdict=decision.verdict,
            clause=decision.clause,
            actor=case.write.actor.name,
            object=str(case.write.target),
            record=record,
            **({"one_of": weight} if weight > 1 else {}),
            **({ALWAYS: True} if is_always_logged(decision) else {}),
        )

    def _decide_unrecorded(self, case: Case, decision: Decision, error: LedgerError) -> Decision:
        """Return what the policy makes of *decision*, which is in no ledger and no spool."""
        outcome = decide_unrecorded(decision, case)
        self.recorder.count_unrecorded(str(error), is_allowed=outcome.allowed)
        UNRECORDED.labels("allowed" if outcome.allowed else "refused").inc()
        return outcome
