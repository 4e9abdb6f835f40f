"""What a review makes of a week."""

from datetime import UTC, datetime
from typing import Any

import pytest

from correlator.digest.compose import compose_review, find_ignored_since, teams_of
from correlator.digest.model import Count
from glasswarden.kube.objects import Object
from tests.correlator.digest.builders import (
    NOW,
    PERIOD,
    REPLICAS,
    an_episode,
    seen,
    the_review,
    week,
)


def test_digest_counts_writes_and_compares_with_the_previous_week() -> None:
    review = the_review()
    assert review.writes == Count(now=4, before=1)
    assert review.refused == Count(now=1, before=0)
    assert review.people == Count(now=2, before=1)
    assert review.grants == Count(now=1, before=0)
    assert review.episodes == Count(now=3, before=1)


def test_request_for_a_grant_is_no_write() -> None:
    assert len([each for each in week() if not each.changes]) == 1


def test_recurring_change_of_a_field_is_listed() -> None:
    [replicas] = the_review().repeated
    assert (replicas.subject, replicas.path) == ("Deployment shop/web", REPLICAS)
    assert (replicas.times, replicas.refused, replicas.came_back) == (2, 1, 3)
    assert replicas.actors == ("developer", "responder")
    assert replicas.tickets == ("INC-42",)


def test_recurring_drift_without_records_is_listed() -> None:
    episodes = [an_episode(5, name="api"), an_episode(9, name="api"), an_episode(7, name="once")]
    review = compose_review(PERIOD, [], seen(episodes=episodes), NOW)
    assert [(each.subject, each.times, each.came_back) for each in review.repeated] == [
        ("Deployment shop/api", 0, 2)
    ]


def test_applications_are_listed_with_team_and_drift() -> None:
    shop, billing = the_review().applications
    assert (shop.name, shop.team, shop.writes, shop.refused) == (
        "shop",
        "storefront",
        Count(now=3, before=1),
        1,
    )
    assert (shop.drifted, shop.unexplained) == (3, 1)
    assert (billing.name, billing.team, billing.drifted) == ("billing", "payments", 0)


def test_overdue_grant_lists_changes_that_are_still_live() -> None:
    [owed] = the_review().overdue
    assert (owed.grantee, owed.ticket) == ("responder", "INC-42")
    assert owed.fields == (REPLICAS, "/spec/paused")


def test_ignored_drift_is_not_counted_and_unused_rules_are_first() -> None:
    drift = the_review().drift
    assert drift is not None
    assert drift.fields == 3
    assert [each.subject for each in drift.orphans] == ["Deployment shop/web"]
    assert [each.covers for each in drift.ignores] == [0, 1]
    assert [each.path for each in drift.unexplained] == ["/spec/paused"]


def test_source_that_was_not_inspected_is_not_reported_as_empty() -> None:
    review = the_review(findings=None, episodes=None)
    assert review.drift is None
    assert review.episodes is None
    assert {each.came_back for each in review.repeated} == {None}
    assert {each.drifted for each in review.applications} == {None}


def test_team_is_taken_from_labels_without_a_configured_team() -> None:
    teams = {each.name: each.team for each in the_review().applications}
    assert teams == {"shop": "storefront", "billing": "payments"}


def labelled(**labels: str) -> Object:
    return {"metadata": {"name": "web", "labels": labels}}


@pytest.mark.parametrize(
    ("objects", "teams"),
    [
        pytest.param([labelled(team="storefront"), {}], {"shop": "storefront"}, id="one label"),
        pytest.param([labelled(app="web")], {}, id="none"),
        pytest.param(
            [labelled(**{"example.com/team": "b"}), labelled(team="a")], {"shop": "a, b"}, id="two"
        ),
    ],
)
def test_team_is_read_from_labels(objects: list[Object], teams: dict[str, str]) -> None:
    assert teams_of([("shop", each) for each in objects]) == teams


def test_age_of_a_rule_is_the_time_of_its_oldest_write() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:ignoreDifferences": {}}}
    entries = [
        {"manager": "argocd", "operation": "Update", "time": time, "fieldsV1": fields}
        for time in ("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z")
    ]
    application = {"metadata": {"managedFields": entries}}
    assert find_ignored_since(application) == datetime(2026, 1, 1, tzinfo=UTC)
    assert find_ignored_since({"metadata": {}}) is None
