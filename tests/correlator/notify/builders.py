"""Events and files, showing only what differs."""

from datetime import UTC, datetime
from typing import Any

from correlator.notify.config import Document, parse_notifications
from correlator.notify.events import Event, Kind

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
HEAD = "apiVersion: glasswarden.io/v1\nkind: Notifications\n"
TARGETS = """
targets:
  - {name: storefront, url: https://hooks.example/storefront, format: slack}
  - {name: platform, url: https://hooks.example/platform}
"""


def an_event(**changes: Any) -> Event:  # noqa: ANN401 - any field
    fields: dict[str, Any] = {
        "id": "1",
        "kind": Kind.DENIED,
        "time": NOW,
        "subject": "Deployment shop/web",
        "says": "edit denied: /spec/replicas",
        "cluster": "prod",
        "namespace": "shop",
        "engine": "flux",
        "application": "flux-system/shop",
        "actor": "developer",
    }
    return Event(**fields | changes)


def a_document(text: str = "routes: [{targets: [platform]}]") -> Document:
    return parse_notifications(HEAD + TARGETS + text)
