"""Reviews while nothing can be recorded: no ledger, and no spool."""

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.record import Gap, Head, Record
from tests.ledger.builders import KEYS
from tests.webhook.builders import a_deployment, a_review
from webhook.admission import Admission
from webhook.recording.recorder import Recorder
from webhook.recording.store import InlineLink
from webhook.reloading import Rules


class Away:
    """A ledger that comes back in the end."""

    def __init__(self) -> None:
        self.away = True
        self.records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        if self.away:
            raise LedgerUnavailable("connection refused: db-7.internal")
        self.records += records

    def unwitnessed_heads(self) -> list[Head]:
        if self.away:
            raise LedgerUnavailable("connection refused: db-7.internal")
        return []

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:  # noqa: ARG002
        return []

    def close(self) -> None:
        pass


def restarted() -> bytes:
    """Return the review of a harmless write: `kubectl rollout restart`."""
    new = a_deployment()
    new["spec"]["template"] = {
        "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-03-01T12:00:00Z"}}
    }
    return a_review(object=new, oldObject=a_deployment())


def answered(review: bytes, policy: Path | None = None) -> tuple[dict[str, Any], list[Gap]]:
    """Return what the webhook answers during the outage, and the gaps recorded afterwards."""

    async def play() -> tuple[dict[str, Any], list[Gap]]:
        ledger = Away()
        recorder = Recorder(InlineLink(lambda: ledger), "writer-1", "test", KEYS)
        await recorder.open()
        body = await Admission(Rules(policy), recorder).validate(review)
        ledger.away = False
        await recorder.store.deliver()
        await recorder.close()
        gaps = [each.entry for each in ledger.records if isinstance(each.entry, Gap)]
        return json.loads(body)["response"], gaps

    return asyncio.run(play())


@pytest.fixture
def warning(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text("apiVersion: glasswarden.io/v1\nkind: Policy\nmode: warn\n")
    return path


def test_denied_write_is_denied_without_a_record() -> None:
    response, gaps = answered(a_review())
    assert response["status"]["code"] == 403
    assert "is managed by" in response["status"]["message"]
    assert "auditAnnotations" not in response
    [gap] = gaps
    assert (gap.count, gap.refused) == (0, 1)


def test_allowed_write_is_denied_under_enforce_with_the_reason() -> None:
    response, gaps = answered(restarted())
    assert response["allowed"] is False
    assert (response["status"]["code"], response["status"]["reason"]) == (503, "ServiceUnavailable")
    assert "cannot be recorded now" in response["status"]["message"]
    assert "db-7" not in response["status"]["message"]
    [gap] = gaps
    assert (gap.count, gap.refused) == (0, 1)


def test_write_under_warn_is_allowed_and_counted_in_a_gap(warning: Path) -> None:
    response, [gap] = answered(a_review(), warning)
    assert response["allowed"] is True
    assert "auditAnnotations" not in response
    assert (gap.count, gap.refused) == (1, 0)
    assert "connection refused" in gap.why


def test_emergency_group_is_allowed_and_counted_in_a_gap() -> None:
    someone = {"username": "responder", "groups": ["glasswarden:emergency"]}
    response, [gap] = answered(a_review(userInfo=someone))
    assert response["allowed"] is True
    assert gap.count == 1
