"""One message per ticket or application in a window; denied writes are sent periodically."""

from datetime import timedelta

from correlator.notify.events import Event, Kind
from correlator.notify.routing import MOST_EVENTS, MOST_GROUPS, Groups, Message
from tests.correlator.notify.builders import NOW, an_event

WINDOW, DENIALS = timedelta(seconds=30), timedelta(minutes=15)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def told(groups: Groups, after: float) -> list[Message]:
    return groups.take_due(NOW + seconds(after))


def gathered(*events: Event) -> Groups:
    groups = Groups(WINDOW, DENIALS)
    for event in events:
        groups.add(event, "platform", NOW)
    return groups


def test_events_of_one_ticket_are_grouped_into_one_message() -> None:
    events = [
        an_event(id=str(number), kind=Kind.GRANT_USED, ticket="INC-42", application=f"app-{number}")
        for number in range(3)
    ]
    groups = gathered(*events)
    assert told(groups, 29) == []
    assert told(groups, 30) == [Message("platform", "INC-42", tuple(events))]
    assert told(groups, 31) == []


def test_events_without_a_ticket_are_grouped_by_application() -> None:
    groups = gathered(an_event(id="1"), an_event(id="2", application="pay"))
    assert [message.about for message in told(groups, 30)] == ["flux-system/shop", "pay"]


def test_sent_event_is_not_sent_again() -> None:
    groups = gathered(an_event(), an_event())
    [message] = told(groups, 30)
    groups.add(an_event(), "platform", NOW)
    assert len(message.events) == 1
    assert told(groups, 9999) == []


def test_denied_writes_are_sent_periodically_with_their_count() -> None:
    groups = gathered(an_event(id="0"))
    assert len(told(groups, 30)) == 1
    for number in range(1, 50):
        groups.add(an_event(id=str(number)), "platform", NOW + seconds(40))
    assert told(groups, 600) == []
    [message] = told(groups, 30 + 900)
    assert (len(message.events), message.more) == (MOST_EVENTS, 49 - MOST_EVENTS)


def test_grant_is_sent_while_denials_wait() -> None:
    groups = gathered(an_event(id="0"))
    told(groups, 30)
    groups.add(an_event(id="1"), "platform", NOW + seconds(40))
    groups.add(an_event(id="2", kind=Kind.GRANT_OPENED), "platform", NOW + seconds(41))
    assert [len(message.events) for message in told(groups, 80)] == [2]


def test_groups_beyond_the_limit_are_sent_early() -> None:
    many = [an_event(id=str(n), application=f"app-{n}") for n in range(MOST_GROUPS + 5)]
    groups = gathered(*many)
    assert len(told(groups, 0)) == 5
    assert len(groups) == MOST_GROUPS
