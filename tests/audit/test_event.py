"""What one event of the audit log says."""

import json
from typing import Any

import pytest

from glasswarden.audit.event import (
    NotAnEvent,
    failed_open_webhooks_of,
    parse_event,
    parse_events,
    records_in,
)
from tests.audit.builders import audit_document, audit_event

ID = "019ca945-0a00-7000-8000-000000000001"
DIGEST = "d" * 64


@pytest.mark.parametrize(
    "document",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"kind":"Event","apiVersion":"v1","metadata":{"name":"web.1"},"reason":"Scaled"}',
        '{"kind":"Policy","apiVersion":"audit.k8s.io/v1"}',
        json.dumps(audit_document(stageTimestamp="yesterday")),
    ],
    ids=["nothing", "null", "list", "empty", "an Event of the core group", "policy", "time"],
)
def test_invalid_audit_event_is_rejected(document: str) -> None:
    with pytest.raises(NotAnEvent):
        parse_event(document)


def test_event_list_is_parsed_with_or_without_the_kind_of_its_items() -> None:
    bare = audit_document(2)
    del bare["kind"], bare["apiVersion"]
    document = {"kind": "EventList", "items": [audit_document(1), bare]}
    events = parse_events(json.dumps(document).encode())
    assert [event.audit_id for event in events] == ["audit-1", "audit-2"]


@pytest.mark.parametrize(
    ("differing", "stored"),
    [
        ({"responseStatus": {"code": 200}}, True),
        ({"responseStatus": {"code": 201}}, True),
        ({"responseStatus": {"code": 403}}, False),
        ({"responseStatus": {"code": 409}}, False),
        ({"responseStatus": {"code": 504}}, None),
        ({"responseStatus": {"code": 500}}, None),
        ({"responseStatus": {}}, None),
        ({"stage": "RequestReceived"}, None),
        ({"stage": "Panic", "responseStatus": {"code": 500}}, None),
        ({"verb": "deletecollection", "responseStatus": {"code": 200}}, True),
        ({"verb": "deletecollection", "responseStatus": {"code": 403}}, None),
    ],
)
def test_audit_event_shows_whether_a_write_was_stored(
    differing: dict[str, Any], *, stored: bool | None
) -> None:
    """After a time-out, and for a part of a collection, the answer leaves it unknown."""
    assert audit_event(**differing).stored is stored


def test_audit_event_has_the_authenticated_and_the_impersonated_user() -> None:
    posing = audit_event(impersonatedUser={"username": "lead", "groups": ["leads"]})
    assert (posing.user.username, posing.actor.username) == ("developer", "lead")
    plain = audit_event()
    assert plain.actor is plain.user


@pytest.mark.parametrize(
    ("uri", "agent", "manager"),
    [
        ("/x?fieldManager=kubectl-edit&fieldValidation=Strict", "kubectl/v1", "kubectl-edit"),
        ("/x", "kubectl/v1.36.0 (linux/amd64)", "kubectl"),
        ("/x", "", ""),
    ],
)
def test_field_manager_is_derived_as_the_api_server_does(
    uri: str, agent: str, manager: str
) -> None:
    assert audit_event(requestURI=uri, userAgent=agent).manager == manager


@pytest.mark.parametrize(
    ("answered", "shown"),
    [
        ({"kind": "Deployment", "metadata": {}}, True),
        ({"kind": "Status", "status": "Success"}, False),
        (None, False),
        ("text", False),
    ],
)
def test_object_after_the_write_is_read_from_the_event(answered: object, *, shown: bool) -> None:
    assert (audit_event(responseObject=answered).response_body() is not None) is shown


@pytest.mark.parametrize(
    "annotations",
    [
        {"guard.glasswarden.io/not-an-id": DIGEST},
        {f"guard.glasswarden.io/{ID}": "no digest"},
        {f"guard.example.org/{ID}": DIGEST},
        {ID: DIGEST},
    ],
    ids=["id", "digest", "somebody else's", "nobody's"],
)
def test_annotation_without_a_record_is_skipped(annotations: dict[str, str]) -> None:
    assert list(records_in(audit_event(annotations=annotations))) == []


def test_event_can_name_several_records() -> None:
    other = ID[:-1] + "2"
    annotations = {f"guard.glasswarden.io/{each}": DIGEST for each in (ID, other)}
    assert list(records_in(audit_event(annotations=annotations))) == [(ID, DIGEST), (other, DIGEST)]


@pytest.mark.parametrize(
    ("key", "webhook", "ours"),
    [
        ("failed-open.validating.webhook.admission.k8s.io/round_0_index_1", "scale", True),
        ("failed-open.mutation.webhook.admission.k8s.io/round_0_index_0", "hold", False),
    ],
    ids=["validating", "mutating"],
)
def test_event_shows_that_the_webhook_failed_open(key: str, webhook: str, *, ours: bool) -> None:
    name = f"{webhook}.glasswarden.io"
    assert failed_open_webhooks_of(audit_event(annotations={key: name})) == (
        (name,) if ours else ()
    )
    assert failed_open_webhooks_of(audit_event(annotations={key: "validation.example.org"})) == ()
