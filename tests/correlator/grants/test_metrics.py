"""Grants are counted by state, and an event is published for each that expired."""

from datetime import timedelta

from correlator.grants import (
    RECENT,
    Grant,
    State,
    count_by_state,
    expiry_event_of,
    expiry_name_of,
    find_expired,
    grants_of,
)
from correlator.still_live import Answer, FieldState
from tests.correlator.attribution.builders import UID, at
from tests.correlator.grants.test_grant import HALF_AN_HOUR, STORY, granted

END = at(0) + HALF_AN_HOUR


def a_grant(id_: str = "g1", *, minutes: float = 30, closed: bool = False) -> Grant:
    """Return a grant whose one change is still live."""
    ends = at(0) + timedelta(minutes=minutes)
    story = [
        granted(0, "issued", grant=id_, grant_expires=ends),
        granted(1, "used", "/spec/replicas", grant=id_, grant_expires=ends),
    ]
    story += [granted(2, "closed", grant=id_, grant_expires=ends)] if closed else []
    [grant] = grants_of(story, lambda _attempt, _change: FieldState(Answer.YES))
    return grant


def test_grants_are_counted_by_every_state() -> None:
    grants = [a_grant("g1"), a_grant("g2"), a_grant("g3", minutes=90)]
    assert count_by_state(grants, END) == {
        State.OPEN: 1,
        State.OVERDUE: 2,
        State.UNCHECKED: 0,
        State.SETTLED: 0,
    }
    assert count_by_state([], END) == dict.fromkeys(State, 0)


def test_expiry_is_published_only_shortly_after_the_end() -> None:
    grant = a_grant()
    assert find_expired([grant], END - timedelta(seconds=1)) == []
    assert find_expired([grant], END) == [grant]
    assert find_expired([grant], END + RECENT) == []


def test_closed_grant_has_no_expiry_event() -> None:
    assert find_expired([a_grant(closed=True)], END) == []


def test_expiry_event_has_grantee_and_changed_fields() -> None:
    event = expiry_event_of(a_grant())
    assert event.note == (
        "The grant of responder for INC-42 is over: Git decides again."
        " Changed under it: /spec/replicas."
    )
    assert (event.regarding.name, event.regarding.uid) == ("web", UID)


def test_expiry_event_counts_fields_beyond_the_limit() -> None:
    uses = [granted(1, "used", f"/spec/f{number}") for number in range(9)]
    [grant] = grants_of([STORY[0], *uses], lambda _attempt, _change: FieldState())
    assert expiry_event_of(grant).note.endswith("/spec/f5 and 3 more.")


def test_name_of_the_expiry_event_depends_only_on_the_grant() -> None:
    assert expiry_name_of(a_grant()) == expiry_name_of(a_grant()) == "web.g1.expired"
    assert expiry_name_of(a_grant()) != expiry_name_of(a_grant("g2"))
