"""The ledger as a source: from its records to findings."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from correlator.finding import UNKNOWN, Result
from correlator.live.source import KindUnavailable
from correlator.sources.ledger import LOOKED_FOR, PAGE, Asked, read_ledger
from correlator.still_live import Lookup
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.record import FORMAT, Attempt, Gap, new_id
from glasswarden.policy.policy import DEFAULT
from tests.correlator.attribution.builders import UID, at, wrote
from tests.correlator.builders import FLUX
from tests.kube.builders import an_object
from tests.ledger.builders import a_gap, a_tombstone, an_opening, records_of

NOTHING = Result(looked_for=LOOKED_FOR)
REPLICAS = "/spec/replicas"
SCALED = wrote(1, REPLICAS, old=3, new=5)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(open_ledger(f"sqlite://{tmp_path}/ledger.db", create=True)) as opened:
        opened.append(records_of(an_opening(), writer="writer-0"))
        yield opened


def web(replicas: int = 5, name: str = "web") -> Object:
    metadata = {"uid": UID}
    return an_object(
        name=name, namespace="shop", labels=FLUX, metadata=metadata, spec={"replicas": replicas}
    )


def looking(*objects: Object) -> tuple[Lookup, list[Ref]]:
    """Return a look at a cluster that holds *objects*, and what was looked up."""
    asked: list[Ref] = []
    names = {each["metadata"]["name"]: each for each in objects}

    def look(ref: Ref) -> Object | None:
        asked.append(ref)
        return names.get(ref.name)

    return look, asked


def read(ledger: Ledger, look: Lookup, *attempts: Attempt, **asked: Any) -> Result:  # noqa: ANN401
    ledger.append(records_of(*attempts))
    return read_ledger(ledger, look, Asked(**{"cluster": "test", "policy": DEFAULT, **asked}))


def fields(result: Result) -> list[tuple[str, str]]:
    return [(each.ref.name, str(each.field)) for each in result.findings]


def test_each_object_is_read_once_for_many_records(ledger: Ledger) -> None:
    toggled = [
        wrote(minute, REPLICAS, old=minute, new=minute + 1) for minute in range(2, PAGE + 50)
    ]
    look, asked = looking(web(PAGE + 50))
    result = read(ledger, look, *toggled)
    assert [(each.declared, each.live) for each in result.findings] == [(2, PAGE + 50)]
    assert [ref.name for ref in asked] == ["web"]


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(wrote(1, REPLICAS, old=3, new=5, verdict="deny"), id="denied"),
        pytest.param(wrote(1, REPLICAS, old=3, new=5, cluster="other"), id="another cluster's"),
        pytest.param(wrote(1, REPLICAS, old=3, new=5, name=""), id="of no name"),
    ],
)
def test_records_without_a_direct_write_to_the_cluster_are_skipped(
    ledger: Ledger, attempt: Attempt
) -> None:
    look, asked = looking(web())
    assert (read(ledger, look, attempt), asked) == (NOTHING, [])


def test_objects_outside_of_the_filter_are_not_read(ledger: Ledger) -> None:
    look, asked = looking(web())
    assert read(ledger, look, SCALED, wants=lambda ref: ref.name != "web") == NOTHING
    assert read(ledger, look, since=at(2)) == NOTHING
    assert asked == []


class TestMissingObject:
    def test_missing_object_is_a_finding_when_its_last_record_is_a_deletion(
        self, ledger: Ledger
    ) -> None:
        deleted = wrote(2, REPLICAS, operation="DELETE", changes=())
        look, _ = looking()
        [finding] = read(ledger, look, SCALED, deleted).findings
        assert (finding.is_missing_object, finding.declared) == (True, UNKNOWN)
        assert finding.live is ABSENT
        assert finding.since == at(2)

    def test_missing_object_without_a_deletion_by_hand_is_no_finding(self, ledger: Ledger) -> None:
        look, _ = looking()
        pruned = wrote(2, REPLICAS, operation="DELETE", changes=(), clause="held", name="old")
        assert read(ledger, look, SCALED, pruned) == NOTHING


def test_unreadable_objects_are_incomplete_by_kind(ledger: Ledger) -> None:
    def forbidden(ref: Ref) -> Object | None:
        if ref.kind == "Deployment":
            raise KindUnavailable(str(ref), "no right to read it")
        return None

    result = read(
        ledger, forbidden, SCALED, wrote(2, REPLICAS, new=1, name="api"), wrote(3, REPLICAS, new=1)
    )
    [said] = result.incomplete
    assert (said.what, said.why) == (
        "direct writes to 2 of Deployment (apps/v1)",
        "no right to read it",
    )


class TestIncompleteLedger:
    def test_ledger_without_records_of_the_cluster_is_incomplete(self, ledger: Ledger) -> None:
        look, _ = looking(web())
        [said] = read(ledger, look, SCALED, cluster="prod").incomplete
        assert said.why == "the ledger holds no records of the cluster 'prod', only of test"

    def test_pruned_records_are_incomplete(self, ledger: Ledger) -> None:
        ledger.append(records_of(a_tombstone("writer-9", 3, before=at(0)), writer="writer-2"))
        look, _ = looking(web())
        [said] = read(ledger, look, SCALED).incomplete
        assert (said.what, said.why) == (
            "direct writes before 2026-03-01T12:00:00Z",
            "their records were pruned",
        )
        assert read(ledger, look, since=at(0)).incomplete == ()

    def test_writes_allowed_without_a_record_are_incomplete(self, ledger: Ledger) -> None:
        gap = Gap(
            format=FORMAT, id=new_id(at(2), b"gap" * 4), time=at(2), cluster="test",
            since=at(1), until=at(2), count=4, why="the disk was full",
        )  # fmt: skip
        ledger.append(records_of(gap, writer="writer-2"))
        look, _ = looking(web())
        [said] = read(ledger, look, SCALED).incomplete
        assert said.what.startswith("4 direct writes between 2026-03-01T12:01:00Z and")
        assert read(ledger, look, since=at(3)).incomplete == ()

    def test_writes_denied_without_a_record_are_not_incomplete(self, ledger: Ledger) -> None:
        ledger.append(records_of(a_gap(count=0, refused=4), writer="writer-2"))
        look, _ = looking(web())
        assert read(ledger, look, SCALED).incomplete == ()


def test_closed_grant_does_not_keep_a_change_a_finding(ledger: Ledger) -> None:
    fixed = wrote(1, REPLICAS, old=3, new=5, grant="g1", grant_expires=at(60))
    closed = wrote(3, REPLICAS, changes=(), grant="g1", grant_act="closed", name="other")
    live = web()
    live["metadata"]["managedFields"] = [
        {
            "manager": "kustomize-controller",
            "operation": "Apply",
            "time": at(5).isoformat(),
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }
    ]
    look, _ = looking(live)
    assert fields(read(ledger, look, fixed)) == [("web", REPLICAS)]
    assert fields(read_after(ledger, look, closed)) == []


def read_after(ledger: Ledger, look: Lookup, attempt: Attempt) -> Result:
    ledger.append(records_of(attempt, writer="writer-2"))
    return read_ledger(ledger, look, Asked(cluster="test", policy=DEFAULT))
