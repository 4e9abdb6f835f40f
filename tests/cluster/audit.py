"""The API server's audit log: its policy, and its events as they were written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

DEEPLY_NESTED: Final = "deeply-nested"
"""The namespace of objects that few programs can decode: their content is not in the log."""

# Who wrote what, with the objects, for everything that a reconciler may manage; nothing of reads,
# heartbeats and events, which are many and answer no question; never the content of a secret.
POLICY: Final[dict[str, Any]] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Metadata", "namespaces": [DEEPLY_NESTED]},
        {
            "level": "None",
            "resources": [
                {"group": "coordination.k8s.io", "resources": ["leases"]},
                {"group": "", "resources": ["events"]},
                {"group": "events.k8s.io", "resources": ["events"]},
            ],
        },
        {
            "level": "Metadata",
            "resources": [
                {"group": "", "resources": ["secrets", "serviceaccounts/token"]},
                {"group": "authentication.k8s.io"},
                {"group": "authorization.k8s.io"},
            ],
        },
        {
            "level": "RequestResponse",
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
            "resources": [
                {"group": ""},
                {"group": "admissionregistration.k8s.io"},
                {"group": "apps"},
                {"group": "argoproj.io"},
                {"group": "autoscaling"},
                {"group": "batch"},
                {"group": "kustomize.toolkit.fluxcd.io"},
                {"group": "networking.k8s.io"},
                {"group": "policy"},
                {"group": "rbac.authorization.k8s.io"},
            ],
        },
        {"level": "Metadata"},
    ],
}


def read_events(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the events written so far, oldest first."""
    if not log.exists():
        return
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            # The last line may still be on its way.
            if line.endswith("\n"):
                yield json.loads(line)
