"""The use case: a review is read, decided, recorded, answered. Nothing else happens here."""

import os
from datetime import UTC, datetime

import structlog

from glasswarden.policy.decide import decide
from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write
from webhook.entry import entry_of
from webhook.recorder import Recorder
from webhook.review import answer, parse_review, write_of

log = structlog.get_logger()


class Admission:
    """Answers reviews by one policy and records them in one ledger."""

    def __init__(self, policy: Policy, recorder: Recorder) -> None:
        self._policy = policy
        self._recorder = recorder

    async def validate(self, body: bytes) -> bytes:
        """Return the answer to the AdmissionReview in *body*."""
        request = parse_review(body)
        write = write_of(request)
        decision = decide(write, self._policy)
        audit = await self._record(write, decision)
        return answer(request.uid, decision, audit)

    async def _record(self, write: Write, decision: Decision) -> dict[str, str]:
        """Store what must be stored; return what the API server's audit log should witness."""
        if decision.clause is not Clause.GUARD or write.dry_run:
            return {}
        now = datetime.now(UTC)
        entry = entry_of(write, decision, self._policy.cluster, now, os.urandom(10))
        record = await self._recorder.record(entry)
        log.info(
            "write decided",
            verdict=decision.verdict,
            clause=decision.clause,
            actor=write.actor.name,
            object=str(write.object),
            record=record.id,
        )
        return {"record": record.id, "chain": record.digest}
