"""A `scale` whose parent cannot be looked up, with a registration of its own."""

from pathlib import Path

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import guarding
from tests.cluster.kubectl import Caller


def test_scale_with_an_unreadable_parent_fails_open_with_an_audit_annotation(
    cluster: ControlPlane, tmp_path: Path, flux_account: Caller, namespace: str
) -> None:
    """Without the right to read the parent, the webhook reports so instead of guessing."""
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    with guarding(cluster, tmp_path, role=None):
        cluster.as_("developer").kubectl("scale", "deployment/web", "--replicas=9", "-n", namespace)
    traces = [
        key
        for event in cluster.audit_events()
        if event.get("objectRef", {}).get("namespace") == namespace
        for key in event.get("annotations", {})
        if key.startswith("failed-open.validating.webhook.admission.k8s.io/")
    ]
    assert traces
