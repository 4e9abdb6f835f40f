"""Every way past the webhook on the real API server: each is found in the log with its actor."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.applications import by_flux, deployment
from tests.cluster.bypasses import Story, tell
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN

IMAGE = "/spec/template/spec/containers[name=app]/image"
LEVEL = "/spec/template/spec/containers[name=app]/env[name=LOG_LEVEL]/value"


@pytest.fixture(scope="module")
def namespace(cluster: ControlPlane) -> Iterator[str]:
    """Return the namespace of the whole story; no other test has one of that name."""
    admin = cluster.as_("admin")
    admin.kubectl("create", "namespace", "bypassed")
    yield "bypassed"
    admin.kubectl("delete", "namespace", "bypassed", "--wait=false")


@pytest.fixture(scope="module")
def story(cluster: ControlPlane, namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Story:
    return tell(cluster, tmp_path_factory.mktemp("guard"), namespace)


@pytest.fixture(scope="module")
def log(story: Story, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("log") / "audit.log"
    file.write_text("".join(f"{json.dumps(event)}\n" for event in story.events))
    return file


def found(story: Story, log: Path, *words: str) -> list[dict[str, Any]]:
    """Return what `glasswarden drift` finds."""
    given = ["--policy", str(story.guard.policy), "--audit-log", str(log), "--format", "json"]
    command = [*GLASSWARDEN, "drift", *given, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return findings


def test_audit_log_names_who_bypassed_the_webhook_and_how(story: Story, log: Path) -> None:
    told = [
        (each["object"]["kind"], each["object"]["name"], each["link"]["actor"], each["response"])
        for each in found(story, log)
    ]
    assert told == [
        ("Deployment", "api", "lead", "alert"),
        ("Deployment", "api", "lead", "alert"),
        ("Deployment", "api", "lead", "alert"),
        ("ConfigMap", "settings", "lead", "alert"),
        ("Deployment", "old", "lead", "alert"),
        ("Deployment", "web", "developer", "alert"),
        ("ValidatingWebhookConfiguration", "glasswarden", "admin", "escalate"),
        ("Deployment", "web", "developer", "alert"),
        ("ValidatingWebhookConfiguration", "glasswarden", "admin", "escalate"),
        ("Deployment", "api", "developer", "escalate"),
        ("MutatingWebhookConfiguration", "glasswarden", "admin", "escalate"),
        ("Deployment", "glasswarden-webhook", "admin", "escalate"),
    ]


def test_every_drifted_field_is_attributed_by_ledger_and_audit_log(
    story: Story, log: Path, cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The ledger names who impersonated the responder, the log who bypassed the webhook."""
    for name in ("web", "api", "old"):
        text = json.dumps(by_flux(deployment(name, namespace), "shop"))
        (tmp_path / f"{name}.json").write_text(text)
    given = ["--git", str(tmp_path), "--kubeconfig", str(cluster.kubeconfig("admin"))]
    given += ["--ledger", story.guard.ledger, "--cluster", story.guard.records()[0].cluster]
    links = {
        (each["object"]["name"], each["field"]): each["link"]
        for each in found(story, log, *given, "--namespace", namespace)
        if each["source"] != "audit" and each["object"]["name"] in ("web", "api", "old")
    }
    told = {
        place: (link["state"], link["actor"], link["impersonator"], link["why"].split(" at ")[0])
        for place, link in links.items()
        if place[1] in (IMAGE, LEVEL, "/spec/replicas", "/metadata/labels/tier", "/")
    }
    emergency = ("unexplained", "lead", "", "bypassed by the emergency group")
    failed = ("unexplained", "developer", "", "the webhook failed open")
    assert told == {
        ("web", IMAGE): failed,
        ("web", "/spec/replicas"): failed,
        ("web", LEVEL): ("explained", "responder", "admin", ""),
        ("api", IMAGE): emergency,
        ("api", "/spec/replicas"): emergency,
        ("api", "/metadata/labels/tier"): emergency,
        ("api", LEVEL): ("unexplained", "developer", "", "written"),
        ("old", "/"): emergency,
    }
    assert {link["address"] for link in links.values() if link["actor"]} == {"127.0.0.1"}


def test_blame_names_bypassing_and_impersonating_actors(
    story: Story, log: Path, cluster: ControlPlane, namespace: str
) -> None:
    command = [*GLASSWARDEN, "blame", "deployment/web", "-n", namespace]
    command += ["--kubeconfig", str(cluster.kubeconfig("admin")), "--ledger", story.guard.ledger]
    command += ["--policy", str(story.guard.policy), "--audit-log", str(log)]
    environment = cluster.as_("admin").environment()
    environment["PATH"] = f"{cluster.programs['kubectl'].parent}:{environment['PATH']}"
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    lines = {line.partition("│")[2].strip(): line for line in done.stdout.splitlines()}
    assert lines["replicas: 7"].startswith("developer ")
    assert lines["value: debug"].startswith("admin as responder ")
    assert lines["image: registry.example/web:4"].startswith("developer ")


def test_report_names_impersonators_and_writes_without_a_record(
    story: Story, log: Path, namespace: str
) -> None:
    command = [*GLASSWARDEN, "report", "--namespace", namespace, "--ledger", story.guard.ledger]
    command += ["--policy", str(story.guard.policy), "--audit-log", str(log), "--no-live"]
    done = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=True
    )
    report = json.loads(done.stdout)
    told = [
        (each["actor"], each.get("impersonator"), each["address"], each["stored"])
        for each in report["writes"]
    ]
    assert told == [
        ("developer", None, "127.0.0.1", "yes"),
        ("responder", "admin", "127.0.0.1", "yes"),
    ]
    sorts = [(each["sort"], each["actor"]) for each in report["unrecorded"]]
    assert sorts.count(("emergency", "lead")) == 5
    assert sorts.count(("failed-open", "developer")) == 2
    assert ("guard", "admin") in sorts
