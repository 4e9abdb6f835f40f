"""The demo plays its story with the real webhook, and leaves nothing running."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from glasswarden.demo.story import load_recording

DEMO = [sys.executable, "-m", "glasswarden", "demo"]
IMAGE = "/spec/template/spec/containers[name=web]/image"


def told(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DEMO, *options], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the demo left its story."""
    made = tmp_path_factory.mktemp("demo") / "story"
    done = told("--dir", str(made))
    assert done.returncode == 0, done.stderr
    (made / "told.txt").write_text(done.stdout)
    return made


def test_story_names_owner_grant_and_end_of_the_grant(folder: Path) -> None:
    text = (folder / "told.txt").read_text()
    story, _, asked = text.partition("Afterwards somebody asks")
    assert "is managed by Flux Kustomization flux-system/shop" in story
    assert "responder may write to Deployment shop/web until" in story
    assert "the grant for INC-42 expired" in story
    assert "\x1b" not in text
    told, _, _ = text.partition("Told in")
    assert max(map(len, told.splitlines())) <= 100
    assert len(story.splitlines()) <= 45
    assert "responder, INC-42" in asked
    assert "[flux]" in asked
    assert asked.rstrip().partition("Told in")[0].rstrip().endswith("No drift")


def test_report_names_actors_verdicts_and_times_of_the_story(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    recording = load_recording()
    assert [(each["actor"], each["verdict"]) for each in report["writes"]] == [
        ("developer", "deny"),
        ("responder", "allow"),
        ("responder", "allow"),
        ("responder", "allow"),
        ("responder", "deny"),
    ]
    reasons = {each["reason"] for each in report["writes"] if each["verdict"] == "allow"}
    assert reasons == {"checkout is down"}
    [past] = report["unrecorded"]
    assert (past["actor"], past["sort"]) == ("lead", "emergency")
    [unexplained] = report["unexplained"]
    assert (unexplained["declared"], unexplained["live"]) == ("primary", "standby")
    assert unexplained["why"].startswith("bypassed by the emergency group at ")
    owed = {each["path"]: each["command"] for each in report["obligations"]}
    assert owed.keys() == {"/spec/replicas", IMAGE, "/data/payments"}
    assert owed[IMAGE] == "glasswarden backport --ticket INC-42 --repo git@incident --path deploy"
    assert "kustomization.kustomize.toolkit.fluxcd.io/shop" in owed["/data/payments"]
    assert report["integrity"]["verdict"] == "yes"
    began, ended = f"{recording.began:%Y-%m-%dT%H:%M}", f"{recording.ended:%Y-%m-%dT%H:%M}"
    assert {each["time"][:16] for each in report["writes"]} <= {began, ended}


def asked(folder: Path, *words: str) -> str:
    """Return what a command says that somebody types in the demo's folder."""
    seen = ("--live", "live", "--audit-log", "audit.log", "--policy", "policy.yaml")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "glasswarden",
            *words,
            *seen,
            "--ledger",
            f"sqlite://{folder}/ledger.db",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_report_by_ticket_includes_denials_and_bypasses_without_a_ticket(folder: Path) -> None:
    """Who was denied, and who bypassed the webhook, named no ticket."""
    git = ("--git", "git@incident", "--path", "deploy")
    report = json.loads(asked(folder, "report", "--ticket", "INC-42", *git, "--format", "json"))
    assert [each["verdict"] for each in report["writes"]].count("deny") == 2
    assert [each["actor"] for each in report["unrecorded"]] == ["lead"]
    assert [each["path"] for each in report["unexplained"]] == ["/data/payments"]


def test_review_names_the_bypassing_actor_of_the_audit_log(folder: Path) -> None:
    where = ("-n", "shop", "--git", "git@incident", "--path", "deploy", "--format", "json")
    review = json.loads(asked(folder, "review", "--since", "2026-11-01", *where))
    [unexplained] = review["drift"]["unexplained"]
    assert "bypassed by the emergency group" in unexplained["why"]
    assert "lead" in unexplained["why"]
    [shop] = review["applications"]
    assert shop["team"] == "storefront"


def test_history_is_read_from_the_demo_folder_alone(folder: Path) -> None:
    """Of the Deployment each step is on record; of the ConfigMap only the audit log knows."""
    web = asked(folder, "history", "deploy/web", "-n", "shop", "--field", "/spec/replicas")
    states = [(line.split()[2], line.split()[3]) for line in web.splitlines() if "→" in line]
    assert states == [("denied", "developer"), ("stored", "responder"), ("denied", "responder")]
    settings = asked(folder, "history", "cm/settings", "-n", "shop", "--format", "json")
    [step] = json.loads(settings)
    assert (step["state"], step["actor"]) == ("unrecorded", "lead")
    assert step["did"] == "patched it"


def test_blame_names_reason_and_file_in_git(folder: Path) -> None:
    git = ("--git", "git@incident", "--path", "deploy")
    text = asked(folder, "blame", "deploy/web", "-n", "shop", *git)
    [replicas] = [line for line in text.splitlines() if "replicas:" in line]
    assert "INC-42: checkout is down" in replicas
    [level] = [line for line in text.splitlines() if "value: info" in line]
    assert "web.yaml:" in level
    assert "system:serviceaccount:flux-system:kustomize-controller" in level


def test_report_drift_and_patch_are_written_to_the_folder(folder: Path) -> None:
    assert "+  replicas: 8  # sized for" in (folder / "backport.patch").read_text()
    drift = json.loads((folder / "drift.json").read_text())["findings"]
    assert {each["link"]["actor"] for each in drift} == {"", "lead", "responder"}
    assert [each["field"] for each in drift if each["link"]["actor"] == "lead"] == [
        "/data/payments"
    ]
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    assert (folder / "report.md").read_text().startswith("# Changes by hand")
    assert "INC-42" in (folder / "report.csv").read_text()
    assert re.search(r"All of it is in .*/story", (folder / "told.txt").read_text())


def test_backport_patch_is_the_change_that_git_received(folder: Path) -> None:
    """Applied to what Git declared in the incident, it gives what Flux followed in the end."""
    git = ["git", "-C", str(folder / "git")]
    subprocess.run([*git, "checkout", "--quiet", "incident"], check=True)
    subprocess.run([*git, "apply", str(folder / "backport.patch")], check=True)
    left = subprocess.run(
        [*git, "diff", "--name-only", "main"], capture_output=True, text=True, check=True
    )
    assert left.stdout.split() == ["deploy/api.yaml", "deploy/promotion.yaml"]
    subprocess.run([*git, "checkout", "--quiet", "--force", "main"], check=True)


def test_ledger_of_the_demo_passes_fsck(folder: Path) -> None:
    command = [sys.executable, "-m", "glasswarden", "ledger", "fsck"]
    ledger = f"sqlite://{folder}/ledger.db"
    done = subprocess.run(
        [*command, "--ledger", ledger], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_demo_rejects_a_folder_that_is_not_empty(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    again = told("--dir", str(folder))
    assert (again.returncode, again.stdout) == (1, "")
    assert "is not empty: name a new folder, nothing was touched" in again.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_demo_reports_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = told("--dir", str(tmp_path / "file"))
    assert done.returncode == 1
    assert f"{tmp_path / 'file'} cannot be used: File exists" in done.stderr
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.slow
def test_demo_with_stay_runs_until_interrupted(tmp_path: Path) -> None:
    command = [*DEMO, "--stay", "--dir", str(tmp_path / "story")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "Ctrl-C" in line:
                break
        assert demo.poll() is None
        os.kill(demo.pid, signal.SIGINT)
        try:
            rest, _ = demo.communicate(timeout=60)
        finally:
            demo.kill()
    assert (demo.returncode, "Stopped." in rest) == (0, True)


@pytest.mark.slow
def test_demo_reports_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = told("--dir", str(tmp_path / "story"), "--port", port)
    assert done.returncode == 1
    assert "cannot listen on" in done.stderr


STORY = Path(__file__).parents[2] / "docs" / "story.md"
BLOCK = re.compile(r"(?<=```\n).*?(?=```)", re.DOTALL)


def test_docs_show_the_output_of_the_demo(folder: Path) -> None:
    """GLASSWARDEN_RENEW=1 writes it there anew."""
    printed, _, _ = (folder / "told.txt").read_text().partition("Told in")
    shown = re.sub(r"grant\s+[a-z2-7]{16}", "grant …", printed).rstrip() + "\n"
    page = STORY.read_text()
    if os.environ.get("GLASSWARDEN_RENEW") == "1":
        page = BLOCK.sub(lambda _: shown, page, count=1)
        STORY.write_text(page)
    found = BLOCK.search(page)
    assert found is not None
    assert found[0] == shown
