"""How the events of an audit log are counted."""

import json
from datetime import UTC, datetime
from pathlib import Path

from glasswarden.cli.policy import tally
from glasswarden.policy.policy import DEFAULT, enforce_everywhere
from tests.webhook.builders import a_deployment


def an_event(day: int, replicas: int) -> str:
    """Return a developer's edit of Flux's Deployment on a day of March."""
    time = f"2026-03-{day:02d}T12:00:00Z"
    edited = a_deployment()
    edited["spec"]["replicas"] = replicas
    return json.dumps(
        {
            "kind": "Event",
            "auditID": str(day),
            "stage": "ResponseComplete",
            "requestReceivedTimestamp": time,
            "stageTimestamp": time,
            "verb": "update",
            "user": {"username": "developer"},
            "objectRef": {
                "apiGroup": "apps",
                "apiVersion": "v1",
                "resource": "deployments",
                "namespace": "shop",
                "name": "web",
            },
            "responseStatus": {"code": 200},
            "responseObject": edited,
        }
    )


def test_events_before_the_period_give_the_old_objects_and_are_not_counted(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text("\n".join(an_event(day, replicas=day) for day in (1, 2, 3)))
    policy = enforce_everywhere(DEFAULT)
    counted = tally((log,), policy, datetime(2026, 3, 3, tzinfo=UTC))
    assert sum(counted.denied.values()) == 1
    whole = tally((log,), policy)
    assert sum(whole.clauses.values()) == 2
    # What the first of them changed, nothing tells.
    assert sum(whole.unjudged.values()) == 1
