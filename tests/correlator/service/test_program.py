"""The program: the effect of failures, who may write, and what health reports."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from werkzeug.test import Client

from correlator.service import metrics
from correlator.service.model import Passed, PolicyUnusable, Tools
from correlator.service.passes import Passes
from correlator.service.program import Program, Workshop
from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.policy.policy import DEFAULT, Policy
from glasswarden.probes import new_pages
from tests.correlator.service.builders import MINUTE, NOW, Told, a_finding, tools_in

if TYPE_CHECKING:
    from correlator.service.program import Leadership

CLUSTER = DEFAULT.cluster


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    tools = tools_in(tmp_path)
    yield tools
    tools.history.close()
    tools.ledger.close()


@pytest.fixture
def shop() -> Told:
    return Told(findings=(a_finding(),))


class Done:
    """A duty that records its calls, and fails while configured to."""

    def __init__(self) -> None:
        self.passes: list[Passed] = []
        self.fails = False

    def __call__(self, passed: Passed) -> None:
        self.passes.append(passed)
        if self.fails:
            raise RuntimeError("no")


@pytest.fixture
def duty() -> Done:
    return Done()


def program_of(tools: Tools, source: Told, duty: Done) -> Program:
    workshop = Workshop(tools, Passes([source], tools.history), {"first": duty})
    return Program(lambda _: workshop, MINUTE, "one")


def counted(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


def passes(outcome: str) -> float:
    return counted("glasswarden_correlator_passes_total", outcome=outcome)


def test_pass_is_stored_counted_and_given_to_the_duties(
    tools: Tools, shop: Told, duty: Done
) -> None:
    before = passes("done")
    program_of(tools, shop, duty)._turn(NOW)
    assert len(tools.history.open(CLUSTER)) == 1
    assert [len(each.open) for each in duty.passes] == [1]
    assert passes("done") == before + 1
    shown = {"class": "desired-configuration", "state": "unlinked"}
    assert counted("glasswarden_findings", **shown) == 1
    read = counted("glasswarden_source_read_timestamp_seconds", source="shop")
    assert read == NOW.timestamp()


def test_metric_of_a_closed_finding_is_zero(tools: Tools, shop: Told, duty: Done) -> None:
    program = program_of(tools, shop, duty)
    program._turn(NOW)
    shop.findings = ()
    program._turn(NOW + MINUTE)
    shown = {"class": "desired-configuration", "state": "unlinked"}
    assert metrics.REGISTRY.get_sample_value("glasswarden_findings", shown) == 0


def test_failed_pass_is_counted_and_the_next_one_runs(tools: Tools, shop: Told, duty: Done) -> None:
    program, before = program_of(tools, shop, duty), passes("failed")
    shop.crash = LedgerUnavailable("the database is away")
    program._turn(NOW)
    assert passes("failed") == before + 1
    assert program.why_unready() == "no pass has ended yet"
    shop.crash = None
    program._turn(NOW + MINUTE)
    assert program.why_unready() == ""


def test_failed_opening_of_the_tools_is_retried(tools: Tools, shop: Told, duty: Done) -> None:
    workshop = Workshop(tools, Passes([shop], tools.history), {"first": duty})
    tries: list[int] = []

    def open_(_: Callable[[], None]) -> Workshop:
        tries.append(1)
        if len(tries) == 1:
            raise LedgerUnavailable("not yet")
        return workshop

    program = Program(open_, MINUTE, "one")
    for _ in range(3):
        program._turn(NOW)
    assert (len(tries), len(duty.passes)) == (2, 2)


def test_failed_duty_is_counted_and_does_not_fail_the_pass(
    tools: Tools, shop: Told, duty: Done
) -> None:
    before, duty.fails = passes("done"), True
    failures = counted("glasswarden_correlator_duty_failures_total", duty="first")
    program_of(tools, shop, duty)._turn(NOW)
    assert passes("done") == before + 1
    name = "glasswarden_correlator_duty_failures_total"
    assert counted(name, duty="first") == failures + 1


def test_deposed_leader_stores_nothing_until_a_new_term(
    tools: Tools, shop: Told, duty: Done
) -> None:
    program, before = program_of(tools, shop, duty), passes("deposed")
    program._turn(NOW)
    tools.history.lead(CLUSTER, "other", NOW)
    shop.findings = ()
    program._turn(NOW + MINUTE)
    assert passes("deposed") == before + 1
    assert len(tools.history.open(CLUSTER)) == 1
    program._turn(NOW + 2 * MINUTE)
    assert tools.history.open(CLUSTER) == []


class Lead:
    """Leadership as a test has it."""

    is_held = False
    is_well = True


def test_standby_makes_no_pass_and_is_ready(tools: Tools, shop: Told, duty: Done) -> None:
    program, lead = program_of(tools, shop, duty), Lead()
    program._leadership = cast("Leadership", lead)
    program._turn(NOW)
    assert shop.reads == 0
    assert program.why_unready() == ""
    assert metrics.REGISTRY.get_sample_value("glasswarden_correlator_leader") == 0
    lead.is_well = False
    assert program.why_unready() == "who leads is not known"
    lead.is_held = True
    program._turn(NOW + MINUTE)
    assert shop.reads == 1
    assert metrics.REGISTRY.get_sample_value("glasswarden_correlator_leader") == 1


def test_unreadable_policy_keeps_the_previous_policy(tools: Tools, shop: Told, duty: Done) -> None:
    renamed = replace(DEFAULT, document=DEFAULT.document)
    answers: list[Policy | None] = [renamed, None, renamed]

    def read() -> Policy:
        policy = answers.pop(0)
        if policy is None:
            raise PolicyUnusable("broken")
        return policy

    program = program_of(replace(tools, read_policy=read), shop, duty)
    for minutes in range(3):
        program._turn(NOW + minutes * MINUTE)
    assert [each.policy for each in duty.passes] == [renamed] * 3


def test_pages_serve_health_readiness_and_metrics(tools: Tools, shop: Told, duty: Done) -> None:
    program = program_of(tools, shop, duty)
    pages = Client(new_pages(program, metrics.REGISTRY))
    assert pages.get("/healthz").status_code == 200
    unready = pages.get("/readyz")
    assert (unready.status_code, unready.text) == (503, "no pass has ended yet\n")
    program._turn(NOW)
    assert pages.get("/readyz").status_code == 200
    assert "glasswarden_findings{" in pages.get("/metrics").text
    assert pages.get("/elsewhere").status_code == 404
    program.interval, program._alive = timedelta(), -1e9
    assert pages.get("/healthz").status_code == 503
