"""An event goes to its owner: the first route that fits, and those below where it says so."""

from datetime import timedelta

import pytest

from correlator.notify.events import Kind
from correlator.notify.routing import is_silenced, targets_of
from tests.correlator.notify.builders import NOW, a_document, an_event


@pytest.mark.parametrize(
    ("route", "fits"),
    [
        ("", True),
        ("applications: [shop]", True),
        ("applications: [flux-system/shop]", True),
        ("applications: [flux-system/*]", True),
        ("applications: [other]", False),
        ("namespaces: [sh*]", True),
        ("namespaces: [pay]", False),
        ("engines: [argocd]", False),
        ("teams: [storefront]", False),
        ("clusters: [prod]", True),
        ("events: [denied]", True),
        ("events: [grant-opened]", False),
        ("namespaces: [shop], events: [grant-opened]", False),
    ],
)
def test_route_matches_by_all_its_conditions(route: str, fits: bool) -> None:  # noqa: FBT001
    text = f"routes: [{{targets: [storefront], {route}}}]"
    assert targets_of(an_event(), a_document(text)) == (("storefront",) if fits else ())


def test_first_matching_route_applies() -> None:
    text = "routes: [{targets: [storefront], namespaces: [shop]}, {targets: [platform]}]"
    assert targets_of(an_event(), a_document(text)) == ("storefront",)
    assert targets_of(an_event(namespace="pay"), a_document(text)) == ("platform",)


def test_route_with_also_continues_with_the_next_route() -> None:
    text = "routes: [{targets: [storefront], also: true}, {targets: [platform, storefront]}]"
    assert targets_of(an_event(), a_document(text)) == ("storefront", "platform")


def test_event_without_an_application_matches_no_application() -> None:
    text = "routes: [{targets: [storefront], applications: ['*']}]"
    assert targets_of(an_event(application=""), a_document(text)) == ()


@pytest.mark.parametrize(
    ("ticket", "later", "silent"),
    [("INC-42", 0, True), ("INC-43", 0, False), ("", 0, False), ("INC-42", 3, False)],
    ids=["its ticket", "another", "none", "run out"],
)
def test_silence_of_a_ticket_is_limited_in_time(ticket: str, later: int, silent: bool) -> None:  # noqa: FBT001
    text = 'silences: [{ticket: INC-42, until: "2026-03-02T14:00:00Z"}]'
    event = an_event(kind=Kind.GRANT_USED, ticket=ticket)
    now = NOW + timedelta(hours=later)
    assert is_silenced(event, a_document(text).silences, now) is silent
