"""What a sweep removes from an object, and what it keeps."""

from datetime import timedelta

import pytest

from glasswarden.cli.grants import left_over, refs_of
from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import GrantRequest, issue_request
from tests.cli.test_breakglass_view import (
    FOLLOWER,
    NOW,
    OPEN,
    RING,
    a_grant,
    a_namespace,
    an_object,
)
from tests.ledger.builders import an_attempt

HOUR = timedelta(hours=1)
ASKED = {names.REASON: "down", names.TICKET: "INC-1"}


def a_request() -> str:
    request = GrantRequest(
        id="r1",
        cluster="test",
        uid="u1",
        version="7",
        actor="developer",
        actor_uid="",
        rule="oncall",
        ticket="INC-1",
        reason="",
        ttl=60,
        deadline=NOW + HOUR,
    )
    return issue_request(request, RING, NOW)


@pytest.mark.parametrize(
    ("annotations", "later", "marks"),
    [
        pytest.param({}, HOUR, [], id="nothing there"),
        pytest.param({"team": "shop", names.OUTCOME: "reverted"}, HOUR, [], id="an outcome alone"),
        pytest.param({**ASKED, names.GRANT: a_grant()}, 0 * HOUR, [], id="in force"),
        pytest.param(
            {**ASKED, names.GRANT: a_grant(), "team": "shop"},
            HOUR,
            sorted([*ASKED, names.GRANT]),
            id="over, and only ours go",
        ),
        pytest.param({**ASKED, names.REQUEST: a_request()}, 0 * HOUR, [], id="waits"),
        pytest.param(
            {**ASKED, names.REQUEST: a_request(), names.APPROVAL: "pending"},
            HOUR,
            sorted([*ASKED, names.REQUEST, names.APPROVAL]),
            id="waited too long",
        ),
        pytest.param(
            {**ASKED, names.GRANT: a_grant(), names.REQUEST: a_request()},
            HOUR - timedelta(seconds=1),
            [],
            id="over, but asked for again",
        ),
        pytest.param({**ASKED, names.GRANT: "nonsense"}, HOUR, [], id="nothing of ours"),
    ],
)
def test_annotations_of_ended_grants_are_left_over(
    annotations: dict[str, str], later: timedelta, marks: list[str]
) -> None:
    assert left_over(an_object(**annotations), NOW + later) == marks


def test_each_object_is_inspected_once() -> None:
    story = [an_attempt(), an_attempt(), an_attempt(kind="Namespace", group="", namespace="")]
    assert refs_of(story) == [
        Ref("apps", "v1", "Deployment", "shop", "web"),
        Ref("", "v1", "Namespace", "", "web"),
    ]


def test_stamp_of_a_namespace_grant_is_left_over_once_that_grant_ended() -> None:
    obj = an_object(**FOLLOWER)
    assert left_over(obj, NOW, OPEN) == []
    assert left_over(obj, NOW, a_namespace()) == [names.GRANT]
    assert left_over(obj, NOW) == []  # nobody could look
    assert left_over(obj, NOW + HOUR) == [names.GRANT]
