"""After the incident: `report` and `blame` on the real API server, with the real kubectl."""

import csv
import io
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN, Guard, guarding
from tests.cluster.kubectl import Caller, as_json
from tests.cluster.test_break_command import ASKED, POLICY, typed

IMAGE = "/spec/template/spec/containers[name=app]/image"


@dataclass(frozen=True, slots=True)
class Incident:
    """A namespace in which it happened."""

    guard: Guard
    namespace: str

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ours as the lead, who reviews."""
        lead = self.guard.cluster.as_("lead")
        environment = lead.environment() | {"KUBECTL": str(lead.program)}
        environment["GLASSWARDEN_LEDGER"] = self.guard.ledger
        return subprocess.run(
            [*GLASSWARDEN, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=environment,
        )


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("review"), POLICY) as running:
        yield running


@pytest.fixture
def incident(guard: Guard, flux_account: Caller, namespace: str) -> Incident:
    """Return what is left of an incident: a denial, a grant, a scale, an image."""
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    developer, responder = guard.cluster.as_("developer"), guard.cluster.as_("responder")
    developer.kubectl("scale", "deploy/web", "-n", namespace, "--replicas=9", check=False)
    asked = ("break", "deploy/web", "-n", namespace, *ASKED)
    broken = typed(responder, *asked, "--", "scale", "deploy/web", "--replicas=8")
    assert broken.returncode == 0, broken.stderr
    responder.kubectl("set", "image", "deploy/web", "app=registry.example/web:2", "-n", namespace)
    return Incident(guard, namespace)


def test_report_names_actors_and_what_is_still_live(incident: Incident, tmp_path: Path) -> None:
    where = ("-n", incident.namespace)
    output = tmp_path / "report.json"
    done = incident.ask("report", *where, "-o", str(output), "--verify")
    assert done.returncode == 0, done.stderr
    report = json.loads(output.read_text())
    live = {
        change["path"]: (write["actor"], write["ticket"], change.get("live"))
        for write in report["writes"]
        if write["verdict"] == "allow"
        for change in write.get("changes", ())
    }
    assert live == {
        "/spec/replicas": ("responder", "INC-42", "yes"),
        IMAGE: ("responder", "INC-42", "yes"),
    }
    [denied] = [write for write in report["writes"] if write["verdict"] == "deny"]
    assert (denied["actor"], denied["verb"]) == ("developer", "scale")
    assert report["integrity"]["verdict"] == "yes"
    assert {each["path"] for each in report["obligations"]} == set(live)


def test_report_has_no_open_follow_up_once_git_has_the_change(
    incident: Incident, tmp_path: Path
) -> None:
    manifest = by_flux(deployment("web", incident.namespace, replicas=8), "shop")
    container = manifest["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "registry.example/web:2"
    (tmp_path / "web.yaml").write_text(as_json(manifest))
    done = incident.ask("report", "-n", incident.namespace, "--git", str(tmp_path))
    assert "still live, in Git" in done.stdout, done.stderr
    assert "No open follow-up is known." in done.stdout


def test_report_is_written_in_every_format(incident: Incident, tmp_path: Path) -> None:
    where = ("report", "-n", incident.namespace, "--no-live")
    page = tmp_path / "report.html"
    assert incident.ask(*where, "-o", str(page)).returncode == 0
    assert page.read_text().startswith("<!doctype html>")
    assert incident.ask(*where).stdout.startswith("# Changes by hand")
    rows = list(csv.DictReader(io.StringIO(incident.ask(*where, "--format", "csv").stdout)))
    assert {row["actor"] for row in rows} == {"developer", "responder"}
    assert incident.ask("report").returncode == 2


def test_blame_names_who_set_each_line(incident: Incident) -> None:
    done = incident.ask("blame", "deploy/web", "-n", incident.namespace)
    assert done.returncode == 0, done.stderr
    [image] = [line for line in done.stdout.splitlines() if "image: registry" in line]
    assert image.split()[0] == "responder"
    assert "INC-42" in image
    [selector] = [line for line in done.stdout.splitlines() if "restartPolicy" in line]
    assert "responder" not in selector
    only = incident.ask("blame", "deploy/web", "-n", incident.namespace, "--field", IMAGE)
    assert len(only.stdout.splitlines()) == 1
    nothing = incident.ask("blame", "deploy/web", "-n", incident.namespace, "--field", "/spec/x")
    assert "has nothing at /spec/x" in nothing.stderr
