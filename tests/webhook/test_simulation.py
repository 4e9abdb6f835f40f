"""Writes of the past, judged from an audit log that does not show what an object was before."""

from typing import Any

import pytest

from glasswarden.audit.event import Event
from glasswarden.policy.policy import DEFAULT
from tests.audit.builders import audit_event
from tests.webhook.builders import a_deployment
from webhook.simulation import Judged, simulate

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
def test_the_fields_that_the_writer_owns_stand_in_for_what_changed(
    fields: dict[str, Any], clause: str
) -> None:
    [outcome] = simulate([an_event("kubectl-edit", fields)], DEFAULT)
    assert isinstance(outcome, Judged)
    assert outcome.decision.clause == clause
