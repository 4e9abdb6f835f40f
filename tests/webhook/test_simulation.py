"""Past writes, decided from an audit log that does not contain the old objects."""

from typing import Any

import pytest

from glasswarden.audit.event import Event
from glasswarden.policy.messages import render_denial
from glasswarden.policy.policy import DEFAULT
from tests.audit.builders import audit_event
from tests.policy.builders import a_policy
from tests.webhook.builders import a_deployment
from webhook.simulation import Judged, Unjudged, simulate

FLUX = "system:serviceaccount:flux-system:kustomize-controller"
RESTARTED = "f:kubectl.kubernetes.io/restartedAt"


def an_event(manager: str, fields: dict[str, Any]) -> Event:
    """Return the event of a developer's patch, with what managedFields put down to them."""
    after = a_deployment(replicas=5)
    after["metadata"]["managedFields"] = [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "apps/v1",
            "time": "2026-03-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
    ]
    return audit_event(
        verb="patch",
        requestURI=f"/apis/apps/v1/namespaces/shop/deployments/web?fieldManager={manager}",
        responseObject=after,
    )


@pytest.mark.parametrize(
    ("fields", "clause"),
    [
        pytest.param({"f:spec": {"f:replicas": {}}}, "guard", id="a field of Git's"),
        pytest.param(
            {"f:spec": {"f:template": {"f:metadata": {"f:annotations": {RESTARTED: {}}}}}},
            "benign",
            id="a restart",
        ),
    ],
)
def test_managed_fields_of_the_writer_replace_the_unknown_changes(
    fields: dict[str, Any], clause: str
) -> None:
    [outcome] = simulate([an_event("kubectl-edit", fields)], DEFAULT)
    assert isinstance(outcome, Judged)
    assert outcome.decision.clause == clause


def patch(**differing: Any) -> Event:  # noqa: ANN401 - any field of an event
    uri = "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl-edit"
    known = {"verb": "patch", "requestURI": uri, "responseObject": a_deployment(replicas=5)}
    return audit_event(**known | differing)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        pytest.param(
            patch(verb="deletecollection", responseObject=None),
            "a collection was deleted",
            id="a collection",
        ),
        pytest.param(patch(responseStatus={"code": 504}), "whether it was stored", id="a time-out"),
        pytest.param(patch(), "what the writer changed", id="no entry of the writer's"),
    ],
)
def test_undecidable_event_is_not_counted_as_allowed(event: Event, reason: str) -> None:
    [outcome] = simulate([event], DEFAULT)
    assert isinstance(outcome, Unjudged)
    assert reason in outcome.reason


def test_unmanaged_object_and_write_of_the_owner_need_no_managed_fields() -> None:
    for event in (
        patch(responseObject=a_deployment(labels={})),
        patch(user={"username": FLUX}),
    ):
        [outcome] = simulate([event], DEFAULT)
        assert isinstance(outcome, Judged)
        assert outcome.decision.allowed


def test_rejected_request_is_no_write() -> None:
    assert list(simulate([patch(responseStatus={"code": 409})], DEFAULT)) == []


def test_past_write_is_decided_at_its_own_time() -> None:
    """A rule for weekdays decides otherwise on a Sunday, as 1 March 2026 was."""
    policy = a_policy(
        "breakGlass: {rules: [{name: a, groups: [developers],"
        " hours: {from: '00:00', to: '23:59'}}]}"
    )
    old = a_deployment(replicas=3)
    first = patch(user={"username": FLUX}, responseObject=old)
    told = []
    for day in ("2026-03-01", "2026-03-02"):
        edit = patch(
            requestReceivedTimestamp=f"{day}T12:00:00Z",
            user={"username": "developer", "groups": ["developers"]},
        )
        [_, outcome] = simulate([first, edit], policy)
        assert isinstance(outcome, Judged)
        told.append("To break the glass" in render_denial(outcome.decision, outcome.case))
    assert told == [False, True]
