"""What the terminal says about break-glass on an object."""

from datetime import UTC, datetime, timedelta

import pytest

from glasswarden.cli.breakglass import (
    in_force,
    is_followed,
    is_open,
    render_time_left,
    sentences,
    view_of,
)
from glasswarden.keys.ring import Key, Ring
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import GrantRequest, Stamp, issue_request, issue_stamp
from glasswarden.policy.types import GrantOperation

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RING = Ring([Key("k", b"s" * 32, NOW - timedelta(days=1))])


def an_object(**annotations: str) -> dict[str, object]:
    metadata = {"name": "web", "namespace": "shop", "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


def a_grant(**differing: object) -> str:
    fields: dict[str, object] = {
        "id": "g1",
        "cluster": "test",
        "uid": "u1",
        "version": "7",
        "actor": "responder",
        "rule": "oncall",
        "ticket": "INC-42",
        "operations": (GrantOperation.UPDATE, GrantOperation.SCALE),
        "start": NOW,
        "expires": NOW + timedelta(minutes=30),
        "held": ("/spec/replicas",),
    }
    return issue_stamp(Stamp(**fields | differing), RING, NOW)  # type: ignore[arg-type]


def test_object_without_a_grant_has_no_grant_in_force() -> None:
    view = view_of(an_object())
    assert not is_open(view, NOW)
    assert sentences(view, NOW) == ["Deployment shop/web: no grant is in force."]


def test_open_grant_is_shown_with_holder_end_and_held_fields() -> None:
    reason = {names.REASON: "checkout is down"}
    view = view_of(an_object(**{names.GRANT: a_grant(groups=("oncall",))}, **reason))
    first, *rest = sentences(view, NOW + timedelta(minutes=1))
    assert is_open(view, NOW)
    assert first.startswith("Deployment shop/web: open until ")
    assert first.endswith(", 29 min left.")
    assert rest == [
        "  responder, INC-42: checkout is down",
        "  may update, scale",
        "  shared with oncall",
        "  held: /spec/replicas",
    ]


def test_grant_is_expired_at_its_end() -> None:
    view = view_of(an_object(**{names.GRANT: a_grant()}))
    end = NOW + timedelta(minutes=30)
    assert not is_open(view, end)
    first, *rest = sentences(view, end)
    assert "the grant g1 expired at" in first
    assert not any("may update" in line for line in rest)


def test_pending_request_is_shown_with_requester_and_reason() -> None:
    request = GrantRequest(
        id="r1",
        cluster="test",
        uid="u1",
        version="7",
        actor="responder",
        rule="oncall",
        ticket="INC-42",
        reason="digest",
        ttl=1800,
        deadline=NOW + timedelta(minutes=15),
    )
    token = issue_request(request, RING, NOW)
    view = view_of(an_object(**{names.REQUEST: token, names.REASON: "checkout is down"}))
    first, second = sentences(view, NOW)
    assert first.startswith("Deployment shop/web: request r1 waits for approval until ")
    assert second == "  responder asks for 30 min, INC-42: checkout is down"
    assert sentences(view, NOW + timedelta(minutes=15))[0].endswith("no grant is in force.")


def a_namespace(**annotations: str) -> dict[str, object]:
    metadata = {"name": "shop", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


FOLLOWER = {names.GRANT: a_grant(namespace="ns-1")}
OPEN = a_namespace(**{names.GRANT: a_grant(uid="ns-1", held=()), names.REASON: "all is down"})


def test_untouched_object_is_open_under_a_namespace_grant() -> None:
    view = view_of(an_object(), OPEN)
    first, *rest = sentences(view, NOW)
    assert first.endswith("30 min left, by the grant on Namespace shop.")
    assert rest == ["  responder, INC-42: all is down", "  may update, scale"]
    assert not is_open(view, NOW)  # a grant of its own can still be had
    assert in_force(view, NOW) is view.around


def test_changed_object_under_a_namespace_grant_shows_its_held_fields() -> None:
    view = view_of(an_object(**FOLLOWER), OPEN)
    assert sentences(view, NOW)[-1] == "  held: /spec/replicas"
    assert is_followed(view, NOW)


@pytest.mark.parametrize(
    "namespace",
    [
        pytest.param(a_namespace(), id="closed"),
        pytest.param(a_namespace(**{names.GRANT: a_grant()}), id="closed, with its stamp left"),
        pytest.param(
            a_namespace(**{names.GRANT: a_grant(id="g2", expires=NOW), names.REASON: "x"}),
            id="another, and over",
        ),
    ],
)
def test_stamp_of_a_namespace_grant_ends_with_that_grant(namespace: dict[str, object]) -> None:
    view = view_of(an_object(**FOLLOWER), namespace)
    assert in_force(view, NOW) is None
    assert not is_followed(view, NOW)
    assert sentences(view, NOW)[0].endswith("the grant g1 on its Namespace is over.")


def test_stamp_of_an_unreadable_namespace_is_shown_as_unknown() -> None:
    first, held = sentences(view_of(an_object(**FOLLOWER)), NOW)
    assert "which could not be read" in first
    assert held == "  held: /spec/replicas"


def test_stamp_without_a_reason_is_shown_as_closed() -> None:
    view = view_of(an_object(**{names.GRANT: a_grant()}))
    assert not is_open(view, NOW)
    assert sentences(view, NOW)[0].endswith("the grant g1 was closed.")


@pytest.mark.parametrize("token", ["", "x", "e30.k.sig", "💥"])
def test_invalid_token_is_not_shown(token: str) -> None:
    assert view_of(an_object(**{names.GRANT: token})).stamp is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (59.2, "59 s"),
        (60, "1 min"),
        (1199.6, "20 min"),
        (3599, "1 h"),
        (5400, "1 h 30 min"),
    ],
)
def test_time_left_is_rendered_in_large_units(seconds: float, text: str) -> None:
    assert render_time_left(timedelta(seconds=seconds)) == text
