"""The metrics of the API server that alerts rely on: it has them, under these names and labels."""

import re
from datetime import UTC, datetime
from pathlib import Path

from certs.files import issue_into
from tests.certs.builders import HOSTS
from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import registered
from tests.cluster.processes import LOOPBACK, free_ports
from tests.cluster.retries import eventually


def test_failed_calls_and_fail_opens_are_counted_by_the_api_server(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    folder = issue_into(tmp_path, HOSTS, datetime.now(UTC))
    [port] = free_ports(1)
    developer = cluster.as_("developer")
    developer.kubectl("create", "-f", "-", stdin=deployment("scaled", namespace))
    with registered(cluster, f"https://{LOOPBACK}:{port}", folder.authority):
        refused = eventually(lambda: attempt(cluster, namespace), "the webhook to be asked")
        developer.kubectl("scale", "deployment/scaled", "--replicas=2", "-n", namespace)
    assert "failed calling webhook" in refused
    figures = cluster.as_("admin").kubectl("get", "--raw", "/metrics").stdout
    assert counted(figures, "rejection_count", 'error_type="calling_webhook_error"', "guard")
    assert counted(figures, "fail_open_count", "", "scale")


def attempt(cluster: ControlPlane, namespace: str) -> str:
    manifest = by_flux(deployment("web", namespace), "shop")
    tried = cluster.as_("developer").kubectl(
        "create", "--dry-run=server", "-f", "-", stdin=manifest, check=False
    )
    return tried.stderr


def counted(figures: str, metric: str, label: str, entry: str) -> bool:
    pattern = rf"^apiserver_admission_webhook_{metric}{{(.*)}} (\d+)"
    return any(
        label in labels and f'name="{entry}.glasswarden.io"' in labels and int(count) > 0
        for labels, count in re.findall(pattern, figures, re.MULTILINE)
    )
