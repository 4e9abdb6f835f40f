"""A policy reloaded during a review applies to the next one: one policy, one review."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.record import Attempt, Record
from glasswarden.policy.breakglass import names
from tests.ledger.builders import KEYS
from tests.webhook.builders import a_deployment, a_review
from tests.webhook.test_fuzz import Forgetful
from webhook.admission import Admission
from webhook.context import Reader
from webhook.recording.recorder import Recorder
from webhook.recording.store import InlineLink
from webhook.reloading import Rules

HEAD: Final = "apiVersion: glasswarden.io/v1\nkind: Policy\n"
BEFORE: Final = f"""{HEAD}
cluster: before
mode: enforce
sensitive: [{{fields: [/spec/replicas]}}]
breakGlass: {{rules: [{{name: all, users: [somebody-else]}}]}}
"""
AFTER: Final = f"{HEAD}cluster: after\nmode: audit\n"

LIMITED: Final = "breakGlass: {rules: [{name: all, users: [developer], mostOpen: {person: 1}}]}"

Reload = Callable[[], None]


class Remembering(Forgetful):
    """A ledger that keeps the records."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []

    def append(self, records: Sequence[Record]) -> None:
        self.attempts += [each.entry for each in records if isinstance(each.entry, Attempt)]


class ReloadingNamespaces:
    """Namespaces without grants; the policy is reloaded while one of them is looked up."""

    def __init__(self, reload: Reload) -> None:
        self._reload = reload

    async def find(self, name: str, *, fresh: bool = False) -> None:  # noqa: ARG002 - as the real
        self._reload()


class UnavailableLedger(Forgetful):
    """A ledger that fails; the policy is reloaded while it is asked."""

    def __init__(self, reload: Reload) -> None:
        self._reload = reload

    def append(self, records: Sequence[Record]) -> None:  # noqa: ARG002 - none is kept
        self._reload()
        raise LedgerUnavailable("connection refused")


class RecordedGrants:
    """Notes which cluster's open grants were asked for."""

    def __init__(self) -> None:
        self.clusters: list[str] = []

    async def open_grants(self, cluster: str, now: datetime) -> None:  # noqa: ARG002 - as the real
        self.clusters.append(cluster)


class Reloaded:
    """Rules whose file says *before*, until `reload` makes it say *after*."""

    def __init__(self, folder: Path, before: str, after: str) -> None:
        self._file, self._after = folder / "policy.yaml", after
        self._file.write_text(before)
        self.rules = Rules(self._file)

    def reload(self) -> None:
        self._file.write_text(self._after)
        self.rules.refresh()


def response_of(admission: Admission, review: bytes) -> dict[str, Any]:
    response: dict[str, Any] = json.loads(asyncio.run(admission.validate(review)))["response"]
    return response


def restart() -> bytes:
    """Return the review of a write that is allowed in every mode: `kubectl rollout restart`."""
    new = a_deployment()
    new["spec"]["template"] = {
        "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-03-01T12:00:00Z"}}
    }
    return a_review(object=new, oldObject=a_deployment())


def test_a_write_is_recorded_under_the_policy_that_decided_it(tmp_path: Path) -> None:
    reloaded, ledger = Reloaded(tmp_path, BEFORE, AFTER), Remembering()
    decided_by = reloaded.rules.policy
    reader = Reader(namespaces=ReloadingNamespaces(reloaded.reload))  # type: ignore[arg-type]
    recorder = Recorder(InlineLink(lambda: ledger), "writer-1", "before", KEYS)
    response = response_of(Admission(reloaded.rules, recorder, reader=reader), a_review())
    assert response["allowed"] is False
    assert reloaded.rules.policy is not decided_by
    [attempt] = ledger.attempts
    assert (attempt.policy, attempt.cluster) == (decided_by.digest, "before")
    assert (attempt.verdict, attempt.mode) == ("deny", "enforce")
    [change] = attempt.changes
    assert change.new_masked


@pytest.mark.parametrize(
    ("before", "after", "is_allowed"), [("enforce", "audit", False), ("audit", "enforce", True)]
)
def test_write_without_a_ledger_is_answered_under_the_policy_that_decided_it(
    tmp_path: Path, before: str, after: str, *, is_allowed: bool
) -> None:
    reloaded = Reloaded(tmp_path, f"{HEAD}mode: {before}\n", f"{HEAD}mode: {after}\n")
    ledger = UnavailableLedger(reloaded.reload)
    recorder = Recorder(InlineLink(lambda: ledger), "writer-1", "test", KEYS)
    response = response_of(Admission(reloaded.rules, recorder), restart())
    assert response["allowed"] is is_allowed
    assert reloaded.rules.policy.document.mode.value == after


def test_open_grants_are_counted_in_the_cluster_that_the_deciding_policy_names(
    tmp_path: Path,
) -> None:
    before, after = (f"{HEAD}cluster: {name}\n{LIMITED}\n" for name in ("before", "after"))
    reloaded, recorded = Reloaded(tmp_path, before, after), RecordedGrants()
    recorder = Recorder(InlineLink(Forgetful), "writer-1", "before", KEYS)
    admission = Admission(reloaded.rules, recorder, reader=Reader(recorded=recorded))
    asking = a_deployment(replicas=5)
    asking["metadata"]["annotations"] = {names.REASON: "checkout is down"}
    response_of(admission, a_review(object=asking))
    assert set(recorded.clusters) == {"before"}
    recorded.clusters.clear()
    reloaded.reload()
    response_of(admission, a_review(object=asking))
    assert set(recorded.clusters) == {"after"}
