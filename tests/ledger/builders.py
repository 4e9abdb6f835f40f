"""Entries for tests that name only what matters to them."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from glasswarden.ledger.record import Entry, new_id

_TIME = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_count = itertools.count()


def an_entry(**differing: Any) -> Entry:  # noqa: ANN401 - any field of an entry
    """Return an entry of its own instant, like any other but for *differing*."""
    time = _TIME + timedelta(milliseconds=next(_count))
    fields: dict[str, Any] = {
        "id": new_id(time, b"0123456789"),
        "cluster": "test",
        "time": _TIME,
        "verdict": "deny",
        "clause": "guard",
        "mode": "enforce",
        "policy": "c0ffee",
        "actor": "developer",
        "groups": ("developers",),
        "manager": "kubectl-edit",
        "operation": "UPDATE",
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "namespace": "shop",
        "name": "web",
        "object_uid": "0b6f9e0c",
        "subresource": "",
        "engine": "flux",
        "app": "shop",
        "app_namespace": "flux-system",
        "changes": ({"path": "/spec/replicas", "old": 3, "new": 5},),
        "unlisted": 0,
    }
    return Entry(**fields | differing)
