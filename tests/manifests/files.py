"""The alerts and the dashboard as they are applied, and the real promtool on them."""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from certs import metrics as certs_metrics
from correlator.service import metrics as correlator_metrics
from webhook import metrics as webhook_metrics

ROOT: Final = Path(__file__).parents[2]
ALERTS: Final = ROOT / "manifests" / "components" / "prometheus" / "alerts.yaml"
DASHBOARD: Final = ROOT / "manifests" / "components" / "grafana" / "dashboard.json"

OF_THE_API_SERVER: Final = {
    "apiserver_admission_webhook_rejection_count",
    "apiserver_admission_webhook_fail_open_count",
}
"""Metrics of kube-apiserver; tests/cluster/test_signals.py checks that it has them."""

SUFFIXES: Final = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_count", "_sum"),
    "gauge": ("",),
}


def groups_in(text: str) -> list[dict[str, Any]]:
    """Return the groups of rules of the PrometheusRules in *text*."""
    return [group for each in yaml.safe_load_all(text) for group in each["spec"]["groups"]]


def read_alerts() -> list[dict[str, Any]]:
    """Return every alert, as the Prometheus operator reads it."""
    return [rule for group in groups_in(ALERTS.read_text()) for rule in group["rules"]]


def read_panels() -> list[dict[str, Any]]:
    """Return the panels of the dashboard."""
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return panels


def known_metrics() -> set[str]:
    """Return the names under which Prometheus finds what the programs and the API server count."""
    registries = (webhook_metrics._REGISTRY, certs_metrics.REGISTRY, correlator_metrics.REGISTRY)
    families = [family for registry in registries for family in registry.collect()]
    ours = {f"{each.name}{end}" for each in families for end in SUFFIXES[each.type]}
    return ours | OF_THE_API_SERVER


def run_promtool(promtool: Path, folder: Path, *arguments: str) -> None:
    """Run the real *promtool* in *folder*, and fail with what it prints."""
    done = subprocess.run(
        [promtool, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
