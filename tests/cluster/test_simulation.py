"""`policy simulate` on the audit log that a real API server wrote, with no webhook about."""

import json
import subprocess
from pathlib import Path

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN


def test_simulation_counts_writes_that_would_have_been_denied(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    flux = cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")
    apply = ("apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-")
    flux.kubectl(*apply, stdin=by_flux(deployment("web", namespace), "shop"))
    cluster.as_("developer").kubectl("create", "-f", "-", stdin=deployment("own", namespace))
    for person, command in (
        ("developer", ("set", "image", "deployment/web", "app=registry.example/web:2")),
        ("developer", ("scale", "deployment/web", "--replicas=7")),
        ("developer", ("set", "image", "deployment/own", "app=registry.example/own:2")),
        ("developer", ("label", "deployment/web", "a=b", "--dry-run=server")),
        ("responder", ("rollout", "restart", "deployment/web")),
        ("outsider", ("delete", "deployment/web")),
    ):
        cluster.as_(person).kubectl(*command, "-n", namespace)
    log = tmp_path / "audit.log"
    ours = [
        event
        for event in cluster.audit_events()
        if event.get("objectRef", {}).get("namespace") == namespace
    ]
    log.write_text("".join(json.dumps(event) + "\n" for event in ours))
    ask = [*GLASSWARDEN, "policy", "simulate", str(log), "--format", "json"]
    told = json.loads(subprocess.run(ask, capture_output=True, check=True, text=True).stdout)
    denied = sorted((row["actor"], row["verb"], row["manager"]) for row in told["denied"])
    assert denied == [
        ("developer", "patch", "kubectl"),
        ("developer", "patch", "kubectl-set"),
        ("outsider", "delete", "kubectl"),
    ]
    assert told["clauses"]["benign"] == 1
    assert told["unjudged"] == {}
