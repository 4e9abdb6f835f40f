"""A field changed under a grant is an open follow-up until reverted, in Git, or delegated."""

from datetime import timedelta
from typing import Any

import pytest

from correlator.grants import Grant, State, grants_of
from correlator.still_live import Answer, FieldState
from glasswarden.ledger.record import Attempt, ChangedField
from tests.correlator.attribution.builders import at, wrote

HALF_AN_HOUR = timedelta(minutes=30)


def granted(minute: float, act: str, path: str = "", **differing: Any) -> Attempt:  # noqa: ANN401
    fields: dict[str, Any] = {
        "grant": "g1",
        "grant_act": act,
        "grantee": "responder",
        "grant_rule": "oncall",
        "grant_expires": at(0) + HALF_AN_HOUR,
        "ticket": "INC-42",
        "reason": "checkout is down",
    }
    attempt = wrote(minute, path or "/spec/replicas", **fields | differing)
    return attempt if path else wrote(minute, "/", **fields | {"changes": ()} | differing)


def told(*story: Attempt, live: Answer = Answer.UNKNOWN, git: Answer = Answer.UNKNOWN) -> Grant:
    [grant] = grants_of(story, lambda _attempt, _change: FieldState(live, git))
    return grant


STORY = (granted(0, "issued"), granted(1, "used", "/spec/replicas", new=8))


def test_grant_is_composed_from_its_records() -> None:
    grant = told(*STORY, granted(2, "extended", grant_expires=at(50)), granted(3, "closed"))
    assert (grant.id, grant.grantee, grant.ticket) == ("g1", "responder", "INC-42")
    assert (grant.start, grant.expires, grant.closed) == (at(0), at(50), at(3))
    assert [field.change.path for field in grant.fields] == ["/spec/replicas"]


@pytest.mark.parametrize(
    ("minute", "live", "git", "state"),
    [
        pytest.param(29, Answer.YES, Answer.NO, State.OPEN, id="open, whatever is live"),
        pytest.param(30, Answer.YES, Answer.NO, State.OVERDUE, id="ended and still live"),
        pytest.param(30, Answer.YES, Answer.UNKNOWN, State.OVERDUE, id="Git is not at hand"),
        pytest.param(30, Answer.YES, Answer.YES, State.SETTLED, id="backported"),
        pytest.param(30, Answer.NO, Answer.NO, State.SETTLED, id="reverted"),
        pytest.param(30, Answer.UNKNOWN, Answer.UNKNOWN, State.UNCHECKED, id="nobody looked"),
    ],
)
def test_state_of_a_grant_depends_on_time_cluster_and_git(
    minute: float, live: Answer, git: Answer, state: State
) -> None:
    assert told(*STORY, live=live, git=git).state_at(at(minute)) is state


def test_closed_grant_ends_at_once() -> None:
    grant = told(*STORY, granted(2, "closed", outcome="reverted"), live=Answer.YES)
    assert grant.state_at(at(3)) is State.OVERDUE


def test_delegated_grant_is_settled() -> None:
    grant = told(*STORY, granted(2, "closed", outcome="delegated"), live=Answer.YES)
    assert grant.state_at(at(3)) is State.SETTLED


def test_grant_without_changes_is_settled_at_its_end() -> None:
    assert told(granted(0, "issued")).state_at(at(31)) is State.SETTLED


def test_unapproved_request_is_no_grant() -> None:
    assert grants_of([granted(0, "requested")], lambda _a, _c: FieldState()) == []


def test_denied_use_does_not_change_the_grant() -> None:
    refused = granted(2, "used", "/spec/paused", new=True, verdict="deny")
    assert len(told(*STORY, refused).fields) == 1


def test_grants_with_the_same_id_in_two_clusters_are_separate() -> None:
    elsewhere = granted(1, "issued", cluster="another")
    found = grants_of([*STORY, elsewhere], lambda _a, _c: FieldState())
    assert [grant.cluster for grant in found] == ["another", "test"]


def test_new_grant_on_an_object_ends_the_previous_one() -> None:
    mine = [granted(0, "issued"), granted(1, "used", "/spec/replicas", new=8)]
    theirs = granted(5, "issued", grant="g2", grantee="lead", grant_expires=at(60))
    newer, older = grants_of([*mine, theirs], lambda _a, _c: FieldState(Answer.YES))
    assert (older.grantee, older.closed, older.state_at(at(6))) == (
        "responder",
        at(5),
        State.OVERDUE,
    )
    assert (newer.grantee, newer.closed, newer.state_at(at(6))) == ("lead", None, State.OPEN)


def test_expired_grant_is_not_ended_by_a_new_one() -> None:
    again = granted(40, "issued", grant="g2", grant_expires=at(60))
    _, older = grants_of([*STORY, again], lambda _a, _c: FieldState())
    assert older.closed is None


SETTLED: dict[str, Any] = {
    "grantee": "",
    "ticket": "",
    "reason": "",
    "grant_rule": "",
    "grant_expires": None,
}


def test_grant_settled_after_its_end_has_no_follow_up() -> None:
    late = granted(40, "settled", outcome="delegated", **SETTLED)
    grant = told(*STORY, late, live=Answer.YES)
    assert (grant.state_at(at(41)), grant.outcome) == (State.SETTLED, "delegated")
    assert (grant.grantee, grant.ticket, grant.reason, grant.rule) == (
        "responder", "INC-42", "checkout is down", "oncall",
    )  # fmt: skip
    assert grant.closed is None


def test_last_outcome_of_a_grant_applies() -> None:
    closed = granted(2, "closed", outcome="reverted")
    late = granted(40, "settled", outcome="delegated", **SETTLED)
    assert told(*STORY, closed, late, live=Answer.YES).outcome == "delegated"


def test_settlement_on_another_object_does_not_settle_the_grant() -> None:
    late = granted(40, "settled", outcome="delegated", object_uid="another", **SETTLED)
    assert told(*STORY, late, live=Answer.YES).state_at(at(41)) is State.OVERDUE


def test_settlement_without_a_grant_makes_no_grant() -> None:
    late = granted(40, "settled", outcome="delegated", **SETTLED)
    assert grants_of([late], lambda _a, _c: FieldState()) == []


@pytest.mark.parametrize("operation", ["CREATE", "DELETE"])
def test_created_or_deleted_object_is_one_follow_up(operation: str) -> None:
    story = (granted(0, "issued"), granted(1, "used", operation=operation))
    grant = told(*story, live=Answer.YES)
    assert [field.change.path for field in grant.fields] == ["/"]
    assert grant.state_at(at(31)) is State.OVERDUE
    assert told(*story, live=Answer.YES, git=Answer.YES).state_at(at(31)) is State.SETTLED


def test_write_that_was_not_stored_does_not_hide_a_follow_up() -> None:
    """A record proves only an attempt: 8 is live, so 12 was not stored, or was replaced."""
    story = (*STORY, granted(2, "used", "/spec/replicas", old=8, new=12))

    def standing(_attempt: Attempt, change: ChangedField) -> FieldState:
        return FieldState(Answer.YES if change.new == 8 else Answer.NO, Answer.NO)

    [grant] = grants_of(story, standing)
    assert grant.state_at(at(31)) is State.OVERDUE
    assert [field.change.new for field in grant.fields] == [8]
