"""Which records and grants become events, and of which kind."""

from datetime import timedelta

import pytest

from correlator.grants import grants_of
from correlator.notify.events import Kind, event_of, events_of_grants
from correlator.still_live import Answer, FieldState
from tests.ledger.builders import TIME, an_attempt

GRANT = {
    "verdict": "allow",
    "grant": "g1",
    "grantee": "responder",
    "ticket": "INC-42",
    "reason": "checkout is down",
    "grant_expires": TIME + timedelta(hours=1),
}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"verdict": "deny"}, Kind.DENIED),
        ({"verdict": "allow"}, None),
        (GRANT | {"grant_act": "issued"}, Kind.GRANT_OPENED),
        (GRANT | {"grant_act": "approved"}, Kind.GRANT_OPENED),
        (GRANT | {"grant_act": "used"}, Kind.GRANT_USED),
        (GRANT | {"grant_act": "requested"}, None),
        (GRANT | {"grant_act": "closed"}, None),
    ],
)
def test_record_becomes_an_event_of_its_type(fields: dict[str, object], kind: Kind | None) -> None:
    event = event_of(an_attempt(**fields))
    assert (event.kind if event else None) is kind


def test_tries_of_one_write_are_one_event() -> None:
    one, other = an_attempt(verdict="deny"), an_attempt(verdict="deny")
    assert one.id != other.id
    first, second = event_of(one), event_of(other)
    assert first is not None
    assert second is not None
    assert first.id == second.id


def test_events_contain_no_values() -> None:
    event = event_of(an_attempt(verdict="deny"))
    assert event is not None
    for change in an_attempt(verdict="deny").changes:
        assert change.path in event.says
        assert f"{change.new}" not in event.says.replace(change.path, "")


@pytest.mark.parametrize(
    ("minutes", "live", "kinds"),
    [
        (30, Answer.YES, []),
        (61, Answer.NO, [Kind.GRANT_EXPIRED]),
        (61, Answer.YES, [Kind.GRANT_EXPIRED, Kind.GRANT_OVERDUE]),
        (200, Answer.YES, [Kind.GRANT_OVERDUE]),
    ],
    ids=["open", "ended, reverted", "ended, still live", "ended before"],
)
def test_grant_becomes_an_event_at_its_end_and_while_overdue(
    minutes: int, live: Answer, kinds: list[Kind]
) -> None:
    attempts = [an_attempt(**GRANT | {"grant_act": act}) for act in ("issued", "used")]
    grants = grants_of(attempts, lambda _attempt, _change: FieldState(live, Answer.NO))
    now = TIME + timedelta(minutes=minutes)
    events = list(events_of_grants(grants, now - timedelta(minutes=5), now))
    assert [event.kind for event in events] == kinds
    assert {event.ticket for event in events} <= {"INC-42"}
