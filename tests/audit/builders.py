"""Audit events for tests that name only what matters to them, by the names that the log uses."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from glasswarden.audit.event import Event, parse_event

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    """Return a time, in minutes after noon."""
    return NOON + timedelta(minutes=minutes)


def audit_document(minute: float = 0, **differing: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the event of a developer's patch of a Deployment, as the log has it."""
    received = at(minute)
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": f"audit-{minute}",
        "stage": "ResponseComplete",
        "requestURI": "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl-edit",
        "verb": "patch",
        "user": {"username": "developer", "groups": ["developers"]},
        "sourceIPs": ["10.0.0.7"],
        "userAgent": "kubectl/v1.36.0",
        "objectRef": {
            "resource": "deployments",
            "namespace": "shop",
            "name": "web",
            "apiGroup": "apps",
            "apiVersion": "v1",
        },
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": received.isoformat(),
        "stageTimestamp": (received + timedelta(milliseconds=9)).isoformat(),
    } | differing


def audit_event(minute: float = 0, **differing: Any) -> Event:  # noqa: ANN401 - as in the log
    """Return that event, read."""
    return parse_event(json.dumps(audit_document(minute, **differing)))
