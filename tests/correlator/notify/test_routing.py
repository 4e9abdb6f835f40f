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
def test_a_route_fits_by_everything_that_it_says(route: str, fits: bool) -> None:  # noqa: FBT001
    text = f"routes: [{{targets: [storefront], {route}}}]"
    assert targets_of(an_event(), a_document(text)) == (("storefront",) if fits else ())


def test_the_first_that_fits_counts() -> None:
    text = "routes: [{targets: [storefront], namespaces: [shop]}, {targets: [platform]}]"
    assert targets_of(an_event(), a_document(text)) == ("storefront",)
    assert targets_of(an_event(namespace="pay"), a_document(text)) == ("platform",)


def test_one_that_says_also_lets_the_next_count_too() -> None:
    text = "routes: [{targets: [storefront], also: true}, {targets: [platform, storefront]}]"
    assert targets_of(an_event(), a_document(text)) == ("storefront", "platform")


def test_an_event_of_nobodys_application_fits_no_application() -> None:
    text = "routes: [{targets: [storefront], applications: ['*']}]"
    assert targets_of(an_event(application=""), a_document(text)) == ()


@pytest.mark.parametrize(
    ("ticket", "later", "silent"),
    [("INC-42", 0, True), ("INC-43", 0, False), ("", 0, False), ("INC-42", 3, False)],
    ids=["its ticket", "another", "none", "run out"],
)
def test_a_ticket_is_silenced_for_a_time(ticket: str, later: int, silent: bool) -> None:  # noqa: FBT001
    text = 'silences: [{ticket: INC-42, until: "2026-03-02T14:00:00Z"}]'
    event = an_event(kind=Kind.GRANT_USED, ticket=ticket)
    now = NOW + timedelta(hours=later)
    assert is_silenced(event, a_document(text).silences, now) is silent
