"""What a review makes of a week."""

from correlator.review.compose import compose
from correlator.review.model import Count
from tests.correlator.review.builders import (
    NOW,
    PERIOD,
    REPLICAS,
    an_episode,
    seen,
    the_review,
    week,
)


def test_it_counts_what_was_written_and_compares_with_the_week_before() -> None:
    review = the_review()
    assert review.writes == Count(now=4, before=1)
    assert review.refused == Count(now=1, before=0)
    assert review.people == Count(now=2, before=1)
    assert review.grants == Count(now=1, before=0)
    assert review.episodes == Count(now=3, before=1)


def test_asking_for_a_grant_is_no_write() -> None:
    assert len([each for each in week() if not each.changes]) == 1


def test_a_field_that_is_changed_again_and_again_is_named() -> None:
    [replicas] = the_review().repeated
    assert (replicas.subject, replicas.path) == ("Deployment shop/web", REPLICAS)
    assert (replicas.times, replicas.refused, replicas.came_back) == (2, 1, 3)
    assert replicas.actors == ("developer", "responder")
    assert replicas.tickets == ("INC-42",)


def test_drift_that_came_back_is_named_though_nobody_was_recorded() -> None:
    episodes = [an_episode(5, name="api"), an_episode(9, name="api"), an_episode(7, name="once")]
    review = compose(PERIOD, [], seen(episodes=episodes), NOW)
    assert [(each.subject, each.times, each.came_back) for each in review.repeated] == [
        ("Deployment shop/api", 0, 2)
    ]


def test_applications_come_with_their_team_and_their_drift() -> None:
    shop, billing = the_review().applications
    assert (shop.name, shop.team, shop.writes, shop.refused) == (
        "shop",
        "storefront",
        Count(now=3, before=1),
        1,
    )
    assert (shop.drifted, shop.unexplained) == (3, 1)
    assert (billing.name, billing.team, billing.drifted) == ("billing", "", 0)


def test_an_overdue_grant_names_what_is_still_live() -> None:
    [owed] = the_review().overdue
    assert (owed.grantee, owed.ticket) == ("responder", "INC-42")
    assert owed.fields == (REPLICAS, "/spec/paused")


def test_what_is_ignored_is_no_drift_and_rules_that_cover_nothing_come_first() -> None:
    drift = the_review().drift
    assert drift is not None
    assert drift.fields == 3
    assert [each.subject for each in drift.orphans] == ["Deployment shop/web"]
    assert [each.covers for each in drift.ignores] == [0, 1]
    assert [each.path for each in drift.unexplained] == ["/spec/paused"]


def test_what_nobody_looked_at_is_not_called_none() -> None:
    review = the_review(findings=None, episodes=None)
    assert review.drift is None
    assert review.episodes is None
    assert {each.came_back for each in review.repeated} == {None}
    assert {each.drifted for each in review.applications} == {None}
