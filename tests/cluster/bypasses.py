"""Every way past the webhook, walked by real people on a real API server, for its log to tell.

`python -m tests.cluster.bypasses` renews what the fast tests read: the events of this story as the
API server wrote them, and the objects as they were in the end.
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cluster.applications import Manifest, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, serving, webhook_configuration
from tests.cluster.kubectl import Caller

RECORDED: Final = Path(__file__).parents[1] / "correlator" / "audit" / "recorded"
NAMESPACE: Final = "shop"
POLICY: Final = "mode: warn\nemergencyGroup: leads\noutage: {away: refuse}\n"
OURS: Final = ("glasswarden", "glasswarden-webhook")
VALIDATING: Final = "validatingwebhookconfiguration/glasswarden"
MUTATING: Final = "mutatingwebhookconfiguration/glasswarden"
CONFIGURATIONS: Final = (VALIDATING, MUTATING)
DRY_RUN: Final = "--dry-run=server"


@dataclass(frozen=True, slots=True)
class Story:
    """What happened, as it can be asked about afterwards."""

    events: list[dict[str, Any]]
    live: list[dict[str, Any]]
    guard: Guard


def tell(cluster: ControlPlane, folder: Path, namespace: str) -> Story:
    """Walk every way past the webhook, in *namespace*; return what is left of it."""
    before = {event["auditID"] for event in cluster.audit_events()}
    flux = cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")
    set_the_scene(cluster, flux, namespace)
    try:
        with serving(cluster, folder, POLICY) as guard:
            authority = guard.certificates.authority
            cluster.apply(webhook_configuration(guard.url, authority, guard.policy))
            while_it_answers(cluster, flux, namespace)
        while_it_is_away(cluster, namespace)
    finally:
        cluster.as_("admin").kubectl("delete", *CONFIGURATIONS, "--ignore-not-found")
    # Other guards of the same control plane have come and gone before.
    since = (event for event in cluster.audit_events() if event["auditID"] not in before)
    events = [event for event in since if is_about(event, namespace)]
    live = cluster.get("deployments,configmaps", "-n", namespace, "--show-managed-fields")["items"]
    return Story(events, live, guard)


def set_the_scene(cluster: ControlPlane, flux: Caller, namespace: str) -> None:
    cluster.apply(
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "glasswarden"}},
            deployment("glasswarden-webhook", "glasswarden", replicas=2),
            deployment("own", namespace),
        ]
    )
    for manifest in (
        *(deployment(name, namespace) for name in ("web", "api", "old")),
        a_config_map(namespace, level="info"),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "db", "namespace": namespace},
            "stringData": {"password": "swordfish"},
        },
    ):
        applied(flux, manifest)


def while_it_answers(cluster: ControlPlane, flux: Caller, namespace: str) -> None:
    here = ("-n", namespace)
    developer, lead, admin = (cluster.as_(name) for name in ("developer", "lead", "admin"))
    applied(flux, deployment("web", namespace) | {"metadata": more_annotations(namespace)})
    developer.kubectl("set", "image", "deployment/web", "app=registry.example/web:2", *here)
    posing = ("--as=responder", "--as-group=developers")
    admin.kubectl("set", "env", "deployment/web", "LOG_LEVEL=debug", *here, *posing)
    lead.kubectl("set", "image", "deployment/api", "app=registry.example/api:hotfix", *here)
    lead.kubectl("scale", "deployment/api", "--replicas=9", *here)
    lead.kubectl("set", "image", "deployment/own", "app=registry.example/own:2", *here)
    lead.kubectl("set", "image", "deployment/api", "app=registry.example/x", *here, DRY_RUN)
    lead.kubectl("label", "deployment/api", "tier=front", *here)
    replacement = by_flux(a_config_map(namespace, level="debug"), "shop")
    lead.kubectl("replace", "-f", "-", stdin=replacement)
    lead.kubectl("patch", "secret/db", *here, "-p", '{"stringData": {"password": "letmein"}}')
    lead.kubectl("delete", "deployment/old", *here)


def while_it_is_away(cluster: ControlPlane, namespace: str) -> None:
    here = ("-n", namespace)
    developer, admin = cluster.as_("developer"), cluster.as_("admin")
    developer.kubectl("scale", "deployment/web", "--replicas=7", *here)
    image = ("set", "image", "deployment/web")
    developer.kubectl(*image, "app=registry.example/web:3", *here, check=False)
    opened = '[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]'
    admin.kubectl("patch", VALIDATING, "--type=json", "-p", opened)
    until_passed(developer, *image, "app=registry.example/web:4", *here)
    admin.kubectl("delete", VALIDATING)
    until_passed(developer, "set", "env", "deployment/api", "LOG_LEVEL=trace", *here)
    admin.kubectl("delete", MUTATING)
    admin.kubectl("scale", "deployment/glasswarden-webhook", "-n", "glasswarden", "--replicas=0")


def until_passed(person: Caller, *command: str) -> None:
    """Repeat *command* until it is let in: the API server takes a moment to notice."""
    while person.kubectl(*command, check=False).returncode:
        pass


def applied(flux: Caller, manifest: Manifest) -> None:
    apply = ("apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-")
    flux.kubectl(*apply, "--force-conflicts", stdin=by_flux(manifest, "shop"))


def a_config_map(namespace: str, level: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": namespace},
        "data": {"level": level, "colour": "green"},
    }


def more_annotations(namespace: str) -> Manifest:
    annotations = {"example.com/team": "checkout"}
    return {"name": "web", "namespace": namespace, "annotations": annotations}


def is_about(event: dict[str, Any], namespace: str) -> bool:
    """Return whether *event* belongs to the story; Kubernetes' own controllers do not."""
    reference = event.get("objectRef", {})
    by_kubernetes = event["user"]["username"].startswith("system:serviceaccount:kube-system:")
    here = reference.get("namespace") == namespace or reference.get("name") in OURS
    return here and not by_kubernetes and event["stage"] == "ResponseComplete"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ControlPlane() as cluster:
        cluster.as_("admin").kubectl("create", "namespace", NAMESPACE)
        story = tell(cluster, Path(folder), NAMESPACE)
    RECORDED.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(event, separators=(",", ":")) for event in story.events)
    (RECORDED / "audit.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (RECORDED / "live.json").write_text(json.dumps(story.live, indent=1) + "\n")
    print(f"{RECORDED.name}: {len(story.events)} events, {len(story.live)} objects")


if __name__ == "__main__":
    main()
