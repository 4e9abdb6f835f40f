"""`scaled`: who scaled by hand since a grant began, from managedFields."""

from datetime import UTC, datetime

import pytest

from glasswarden.kube.managed_fields import paths_scaled_since
from glasswarden.kube.paths import parse_path
from tests.kube.builders import a_deployment, an_entry, managed_by

START = datetime(2026, 3, 1, 10, 0, 0, 500_000, tzinfo=UTC)
REPLICAS = "/spec/replicas"


@pytest.mark.parametrize(
    ("manager", "subresource", "time", "found"),
    [
        ("kubectl", "scale", "", [REPLICAS]),
        ("kubectl", "scale", "2026-03-01T10:05:00Z", [REPLICAS]),
        ("kubectl", "scale", "2026-03-01T10:00:00Z", [REPLICAS]),
        ("kubectl", "scale", "2026-03-01T09:59:59Z", []),
        ("kubectl", "", "2026-03-01T10:05:00Z", []),
        ("kubectl", "status", "2026-03-01T10:05:00Z", []),
        ("kube-controller-manager", "scale", "", []),
    ],
    ids=[
        "at no known time", "later", "in the same second", "before", "an edit",
        "another subresource", "an autoscaler",
    ],
)  # fmt: skip
def test_scale_by_hand_since_the_start_is_found(
    manager: str, subresource: str, time: str, found: list[str]
) -> None:
    entry = an_entry(manager, REPLICAS, subresource=subresource, time=time)
    live = managed_by(a_deployment(replicas=5), entry)
    assert list(paths_scaled_since(live, START)) == list(map(parse_path, found))
