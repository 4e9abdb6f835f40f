"""From a hotfix by hand to Git, on the real API server: use break-glass, backport, no drift."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller
from tests.cluster.test_break_command import ASKED, POLICY, typed
from tests.cluster.test_review import IMAGE, Incident

OVERLAY = """\
# what production differs in
namespace: {namespace}
resources:
  - ../base
images:
  - name: registry.example/web
    newTag: 1.4.2 # the release
"""
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "db"},
    "stringData": {"password": "at-first"},
}


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("backport"), POLICY) as running:
        yield running


@pytest.fixture
def repository(tmp_path: Path, namespace: str) -> Path:
    """Return a repository with a base and an overlay, committed."""
    web = by_flux(deployment("web", "x"), "shop")
    del web["metadata"]["namespace"]
    secret = by_flux(SECRET | {"metadata": {"name": "db", "namespace": "x"}}, "shop")
    del secret["metadata"]["namespace"]
    files = {
        "base/web.yaml": f"# the shop\n{yaml.safe_dump(web, sort_keys=False)}",
        "base/db.yaml": yaml.safe_dump(secret, sort_keys=False),
        "base/kustomization.yaml": "resources: [web.yaml, db.yaml]\n",
        "prod/kustomization.yaml": OVERLAY.format(namespace=namespace),
    }
    folder = tmp_path / "shop"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "lead")
    git(folder, "config", "user.email", "lead@example.com")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=Declare the shop")
    return folder


@pytest.fixture
def incident(
    guard: Guard,
    flux_account: Caller,
    namespace: str,
    repository: Path,
    renderers: dict[str, Path],
) -> Incident:
    """Return what is left of an incident: a scale, an image, a variable, a password."""
    applied = subprocess.run(
        [renderers["kustomize"], "build", repository / "prod"],
        check=True,
        capture_output=True,
        text=True,
    )
    for each in yaml.safe_load_all(applied.stdout):
        flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=each)
    responder = guard.cluster.as_("responder")
    asked = ("break", "deploy/web", "-n", namespace, *ASKED)
    broken = typed(responder, *asked, "--", "scale", "deploy/web", "--replicas=8")
    assert broken.returncode == 0, broken.stderr
    there = ("-n", namespace)
    responder.kubectl("set", "image", "deploy/web", "app=registry.example/web:1.4.3", *there)
    responder.kubectl("set", "env", "deploy/web", "LOG_LEVEL=debug", "TRACE=on", *there)
    assert typed(responder, "break", "secret/db", *there, *ASKED).returncode == 0
    password = json.dumps({"stringData": {"password": "new-and-secret"}})
    responder.kubectl("patch", "secret/db", "--patch", password, *there)
    return Incident(guard, namespace)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True)
    return done.stdout


def test_backported_hotfix_leaves_no_drift(incident: Incident, repository: Path) -> None:
    where = ("-n", incident.namespace)
    place = ("--path", "prod")
    patch = repository.parent / "hotfix.patch"
    asked = ("backport", "--ticket", "INC-42", *where, "--repo", str(repository), *place)
    done = incident.ask(*asked, "-o", str(patch))
    assert done.returncode == 1, done.stderr  # the password has no place in Git
    assert "secrets are never written to Git" in done.stderr
    assert "new-and-secret" not in done.stdout + done.stderr + patch.read_text()

    git(repository, "apply", str(patch))
    changed = git(repository, "diff", "--unified=0").splitlines()
    assert "+    newTag: 1.4.3 # the release" in changed
    assert git(repository, "status", "--porcelain", "base") == ""
    responder = incident.guard.cluster.as_("responder")
    for target in ("deploy/web", "secret/db"):
        closed = typed(responder, "close", target, *where, "--outcome", "backported")
        assert closed.returncode == 0, closed.stderr
    drift = incident.ask("drift", "--git", str(repository), *place, *where, "--format", "json")
    fields = {each["field"] for each in json.loads(drift.stdout)["findings"]}
    assert fields <= {"/data/password"}, drift.stdout
    again = incident.ask(*asked)
    assert again.stdout == ""
    assert "In Git already:" in again.stderr


def test_backport_commits_to_the_branch_and_changes_nothing_else(
    incident: Incident, repository: Path
) -> None:
    (repository / "prod" / "notes.txt").write_text("not committed\n")
    before = git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")
    which = ("--ticket", "INC-42", "-n", incident.namespace)
    where = ("--repo", str(repository), "--path", "prod", "--branch", "inc-42")
    asked = ("backport", *which, *where)
    done = incident.ask(*asked)
    assert "Committed" in done.stderr, done.stderr
    after = git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")
    assert after == before
    message = git(repository, "log", "-1", "--format=%B", "inc-42")
    assert message.startswith("Declare 4 fields changed by hand under INC-42\n")
    assert "Changed-by: responder" in message
    names = git(repository, "diff", "--name-only", "main", "inc-42").split()
    assert names == ["prod/deployment-web.patch.yaml", "prod/kustomization.yaml"]
    assert "exists; choose another name" in incident.ask(*asked).stderr


def test_review_summarizes_the_incident(incident: Incident, repository: Path) -> None:
    where = ("--git", str(repository), "--path", "prod", "-n", incident.namespace)
    done = incident.ask("review", *where, "--format", "json")
    assert done.returncode == 0, done.stderr
    review = json.loads(done.stdout)
    assert review["writes"]["now"] == 4
    assert [each["name"] for each in review["applications"]] == ["shop"]
    assert review["grants"]["now"] == 2
    drift = review["drift"]
    assert drift["fields"] == 5
    unexplained = {each["path"]: each["why"] for each in drift["unexplained"]}
    assert "not at hand" in unexplained["/data/password"]  # the keys that it is masked with
    assert IMAGE not in unexplained
    assert any("history of findings is empty" in each for each in review["unknown"])
    table = incident.ask("review", *where).stdout
    assert "new-and-secret" not in done.stdout + table
