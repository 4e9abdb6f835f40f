"""The file is checked strictly, and a mistake is reported with its line and column."""

import pytest

from correlator.notify.config import NotificationsInvalid, parse_notifications
from tests.correlator.notify.builders import HEAD, TARGETS


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "rotues: []", "line 3, column 1: unknown key 'rotues'; did you mean 'routes'", id="typo"
        ),
        pytest.param(
            "routes: [{targets: [nobody]}]", "no target is called nobody", id="unknown target"
        ),
        pytest.param("targets: [{name: a}]", "either a url or a urlFile", id="no address"),
        pytest.param(
            "targets: [{name: a, url: 'http://hooks.example/'}]",
            "must begin with https://",
            id="in the clear",
        ),
        pytest.param(
            "targets: [{name: a, url: 'https://x/'}, {name: a, url: 'https://y/'}]",
            "two targets are called a",
            id="twice",
        ),
        pytest.param("window: soon", "line 3, column 9: window", id="no duration"),
        pytest.param("window: 0s", "is not a duration", id="no time"),
        pytest.param(
            "silences: [{ticket: INC-1, until: tomorrow}]", "column 35", id="no time stamp"
        ),
        pytest.param(
            "routes: [{targets: [], events: [denial]}]", "did you mean 'denied'", id="event"
        ),
        pytest.param("window: 1m\nwindow: 2m", "is duplicate", id="repeated"),
        pytest.param("- 1", "not YAML", id="not a mapping"),
    ],
)
def test_mistake_is_reported_with_its_location(text: str, complaint: str) -> None:
    with pytest.raises(NotificationsInvalid) as caught:
        parse_notifications(HEAD + text)
    assert complaint in str(caught.value)


def test_complete_file_is_parsed() -> None:
    text = """
window: 1m
routes:
  - {targets: [storefront], applications: [shop], events: [denied, grant-opened], also: true}
  - {targets: [platform]}
silences:
  - {ticket: INC-42, until: "2026-03-02T18:00:00Z", reason: known}
"""
    document = parse_notifications(HEAD + TARGETS + text)
    assert document.window_length.total_seconds() == 60
    assert [route.targets for route in document.routes] == [("storefront",), ("platform",)]


def test_loopback_receiver_can_use_http() -> None:
    document = parse_notifications(f"{HEAD}targets: [{{name: a, url: 'http://127.0.0.1:1/'}}]")
    assert [target.url for target in document.targets] == ["http://127.0.0.1:1/"]
