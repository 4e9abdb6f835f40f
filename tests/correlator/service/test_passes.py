"""One pass: from sources to the history."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from correlator.attribution.link import Confidence, Link, State
from correlator.episodes.episode import Episode, Term
from correlator.finding import Incomplete
from correlator.inspection.evidence import Evidence
from correlator.service.model import Tools
from correlator.service.passes import LONGEST, Passes, observed_finding_of
from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.policy.policy import DEFAULT
from tests.correlator.service.builders import MINUTE, NOW, Told, a_finding, tools_in

CLUSTER = DEFAULT.cluster


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    tools = tools_in(tmp_path)
    yield tools
    tools.history.close()
    tools.ledger.close()


@pytest.fixture
def term(tools: Tools) -> Term:
    return tools.history.lead(CLUSTER, "one", NOW)


@pytest.fixture
def evidence(tools: Tools) -> Evidence:
    return Evidence(DEFAULT, tools.ledger, CLUSTER)


@pytest.fixture
def shop() -> Told:
    return Told(findings=(a_finding(),), team="checkout")


@pytest.fixture
def passes(tools: Tools, shop: Told) -> Passes:
    return Passes([shop], tools.history)


def open_(tools: Tools) -> list[Episode]:
    return tools.history.open(CLUSTER)


def test_finding_of_a_source_opens_an_episode(
    tools: Tools, term: Term, evidence: Evidence, passes: Passes
) -> None:
    passed = passes.run(term, evidence, NOW)
    [episode] = open_(tools)
    assert passed.open == (episode,)
    assert passed.changes.opened == (episode.last,)
    assert (episode.last.source, episode.last.team) == ("shop", "checkout")
    assert passed.cluster == CLUSTER


def test_failed_source_closes_no_episode(
    tools: Tools, term: Term, evidence: Evidence, passes: Passes, shop: Told
) -> None:
    passes.run(term, evidence, NOW)
    shop.broken = "git is away"
    passed = passes.run(term, evidence, NOW + MINUTE)
    assert passed.failures == {"shop": "git is away"}
    [episode] = open_(tools)
    assert episode.last_seen == NOW


BROKEN = [Told(name="broken", broken="x"), Told(name="broken", crash=KeyError("a mistake of ours"))]


@pytest.mark.parametrize("broken", BROKEN, ids=["it says so", "it breaks"])
def test_failed_source_does_not_affect_other_sources(
    tools: Tools, term: Term, evidence: Evidence, shop: Told, broken: Told
) -> None:
    passed = Passes([broken, shop], tools.history).run(term, evidence, NOW)
    assert len(open_(tools)) == 1
    assert [*passed.failures] == ["broken"]


def test_unavailable_ledger_fails_the_pass(
    tools: Tools, term: Term, evidence: Evidence, shop: Told
) -> None:
    away = Told(name="away", crash=LedgerUnavailable("the database is away"))
    with pytest.raises(LedgerUnavailable):
        Passes([away, shop], tools.history).run(term, evidence, NOW)


def test_finding_that_could_not_be_inspected_stays_open(
    tools: Tools, term: Term, evidence: Evidence, passes: Passes, shop: Told
) -> None:
    passes.run(term, evidence, NOW)
    shop.findings = ()
    shop.incomplete = (Incomplete("Deployment (apps/v1)", "no right", kinds=("Deployment",)),)
    passed = passes.run(term, evidence, NOW + MINUTE)
    assert len(open_(tools)) == 1
    assert passed.incomplete == shop.incomplete
    shop.incomplete = ()
    passes.run(term, evidence, NOW + 2 * MINUTE)
    assert open_(tools) == []


def test_removed_source_closes_its_episodes(
    tools: Tools, term: Term, evidence: Evidence, passes: Passes
) -> None:
    passes.run(term, evidence, NOW)
    Passes([], tools.history).run(term, evidence, NOW + MINUTE)
    assert open_(tools) == []


LINK = Link(
    State.EXPLAINED,
    records=("r-2", "r-1"),
    actor="responder",
    ticket="INC-42",
    confidence=Confidence.CERTAIN,
)


def test_sighting_has_state_record_actor_and_ticket_of_the_link() -> None:
    seen = observed_finding_of(a_finding(link=LINK), "shop", "")
    assert (seen.state, seen.record, seen.actor) == ("explained", "r-2", "responder")
    assert (seen.ticket, seen.confidence) == ("INC-42", "certain")
    assert type(seen.state) is type(seen.class_) is str


def test_values_are_kept_as_json_and_shortened() -> None:
    assert (
        observed_finding_of(a_finding(live={"b": 1, "a": "ü"}), "", "").live
        == '{"a": "\\u00fc", "b": 1}'
    )
    assert len(observed_finding_of(a_finding(live="x" * 9999), "", "").live) == LONGEST


def test_text_that_a_database_rejects_is_replaced() -> None:
    odd = replace(a_finding(), revision="a\0b\ud800")
    assert observed_finding_of(odd, "", "").revision == "a\N{REPLACEMENT CHARACTER}b?"
