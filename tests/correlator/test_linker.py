"""`linking`: findings in, the same findings with their causes out."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from correlator.attribution.context import Knowledge
from correlator.attribution.link import State
from correlator.finding import Finding
from correlator.linker import Linker, linker_of
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import AnyEntry, Attempt
from glasswarden.ledger.sqlite.file import open_sqlite
from glasswarden.policy.policy import DEFAULT
from tests.correlator.attribution.builders import UID, at, held_by, wrote
from tests.ledger.builders import a_gap, an_opening, records_of

REPLICAS = "/spec/replicas"
WEB = Ref("apps", "v1", "Deployment", "shop", "web", UID)


def a_finding(
    field: str = REPLICAS, live: Value = 8, ref: Ref = WEB, holders: tuple[Entry, ...] = ()
) -> Finding:
    return Finding(ref, parse_path(field), 3, live, None, "git", holders=holders)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(open_sqlite(tmp_path / "ledger.db")) as ledger:
        yield ledger


def linked(ledger: Ledger, *findings: Finding) -> list[Finding]:
    return linker_of(ledger, "test", DEFAULT)(findings)


def recorded(ledger: Ledger, *entries: AnyEntry) -> None:
    ledger.append(records_of(an_opening(time=at(-60)), *entries))


def actors(findings: Sequence[Finding]) -> list[str]:
    return [each.link.actor if each.link else "nobody asked" for each in findings]


def test_findings_keep_their_order(ledger: Ledger) -> None:
    api = Ref("apps", "v1", "Deployment", "shop", "api", "u2")
    recorded(
        ledger,
        wrote(1, REPLICAS, new=8),
        wrote(2, "/spec/paused", new=True, actor="lead"),
        wrote(3, REPLICAS, new=8, name="api", object_uid="u2", actor="developer"),
    )
    found = linked(ledger, a_finding(ref=api), a_finding("/spec/paused", live=True), a_finding())
    assert [each.ref.name for each in found] == ["api", "web", "web"]
    assert actors(found) == ["developer", "lead", "responder"]


def test_history_is_read_over_several_pages(ledger: Ledger) -> None:
    elsewhere = [wrote(2 + n / 100, "/spec/paused", new=bool(n % 2)) for n in range(120)]
    recorded(ledger, wrote(1, REPLICAS, new=8), *elsewhere)
    assert actors(linked(ledger, a_finding())) == ["responder"]


def test_record_in_another_api_version_explains_the_finding(ledger: Ledger) -> None:
    recorded(ledger, wrote(1, REPLICAS, new=8, version="v1beta1"))
    assert actors(linked(ledger, a_finding())) == ["responder"]


def test_record_of_another_cluster_explains_nothing(ledger: Ledger) -> None:
    recorded(ledger, wrote(1, REPLICAS, new=8, cluster="elsewhere"))
    assert actors(linked(ledger, a_finding())) == [""]


def test_history_of_an_object_is_read_once() -> None:
    read: list[Ref] = []

    def reader(refs: Sequence[Ref]) -> list[list[Attempt]]:
        read.extend(refs)
        return [[wrote(1, REPLICAS, new=8)] for _ in refs]

    linker = Linker("test", reader, Knowledge(at(-60)), DEFAULT)
    linker([a_finding(), a_finding("/spec/paused"), a_finding()])
    assert read == [Ref("apps", "", "Deployment", "shop", "web")]


def test_field_delegated_by_the_policy_is_delegated(ledger: Ledger) -> None:
    recorded(ledger)
    holder = held_by("horizontal-pod-autoscaler", 1, subresource="scale")
    [found] = linked(ledger, a_finding(holders=(holder,)))
    assert found.link is not None
    assert found.link.state is State.DELEGATED


def test_gap_in_the_ledger_is_the_reason(ledger: Ledger) -> None:
    gap = a_gap(since=at(1), until=at(5), why="the database was away")
    recorded(ledger, gap)
    [found] = linked(ledger, a_finding(holders=(held_by("kubectl-edit", 3),)))
    assert found.link is not None
    assert "the database was away" in found.link.why


def test_write_before_the_first_record_is_the_reason(ledger: Ledger) -> None:
    recorded(ledger)
    [found] = linked(ledger, a_finding(holders=(held_by("kubectl-edit", -90),)))
    assert found.link is not None
    assert "before recording began" in found.link.why


def test_deletion_is_found_without_a_uid(ledger: Ledger) -> None:
    recorded(ledger, wrote(1, REPLICAS, operation="DELETE", changes=()))
    gone = Ref("apps", "v1", "Deployment", "shop", "web")
    [found] = linked(ledger, a_finding("/", ABSENT, gone))
    assert found.link is not None
    assert "made it so, but nothing is left" in found.link.why
