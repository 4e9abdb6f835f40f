"""Commands that look back go by the same evidence: they never contradict each other."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from glasswarden.cli.main import main
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.correlator.attribution.builders import UID, at
from tests.correlator.report.builders import granted
from tests.ledger.builders import an_opening, records_of

REPLICAS = "/spec/replicas"
HELM = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/renderings"
replicas=3
for word in "$@"; do
  case "$word" in *.yaml) replicas=$(cat "$word") ;; esac
done
cat <<EOF
apiVersion: apps/v1
kind: Deployment
metadata: {name: "$2", namespace: "$6"}
spec: {replicas: $replicas, paused: false}
EOF
"""
"""Renders as much of a chart as the tests need: the release's name, its namespace and one value."""


class Desk:
    """A chart, what is live, a ledger, and a helm that counts how often it renders."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.chart, self.live, self.programs = folder / "chart", folder / "live", folder / "bin"
        for each in (self.chart, self.live, self.programs):
            each.mkdir()
        (self.chart / "Chart.yaml").write_text("name: chart\nversion: 1.0.0\n")
        (folder / "values.yaml").write_text("8")
        (self.programs / "helm").write_text(HELM)
        (self.programs / "helm").chmod(0o755)
        monkeypatch.setenv("PATH", str(self.programs), prepend=":")
        write = granted(1, REPLICAS, old=5, new=8, app="web", engine="flux")
        with closing(open_sqlite(folder / "ledger.db")) as ledger:
            ledger.append(records_of(an_opening(cluster="test"), write))
        self.hold(replicas=8, paused=True)

    def hold(self, **spec: Any) -> None:  # noqa: ANN401 - any field
        entry = {
            "manager": "kubectl-edit",
            "operation": "Update",
            "time": f"{at(9):%Y-%m-%dT%H:%M:%SZ}",
            "fieldsV1": {"f:spec": {f"f:{name}": {} for name in spec}},
        }
        labels = {
            "kustomize.toolkit.fluxcd.io/name": "web",
            "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
        }
        metadata = {
            "name": "web",
            "namespace": "shop",
            "uid": UID,
            "labels": labels,
            "managedFields": [entry],
        }
        web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        (self.live / "web.json").write_text(json.dumps(web))

    @property
    def renderings(self) -> list[str]:
        return (self.programs / "renderings").read_text().splitlines()

    def run(self, *words: str) -> Any:  # noqa: ANN401 - any JSON value
        options = ["--ledger", f"sqlite://{self.folder}/ledger.db", "--live", str(self.live)]
        options += ["--git", str(self.chart), "--values", str(self.folder / "values.yaml")]
        result = CliRunner().invoke(main, [*words, *options, "--format", "json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


@pytest.fixture
def count_ledgers(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count how often a file with a ledger is opened."""
    opened: list[str] = []
    connect = sqlite3.connect

    def counting(database: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as connect
        if "ledger.db" in str(database):
            opened.append(str(database))
        return connect(database, *args, **options)

    monkeypatch.setattr(sqlite3, "connect", counting)
    return lambda: len(opened)


SCOPE = ("--app", "web", "-n", "shop")


def test_a_report_agrees_with_drift_about_a_chart(desk: Desk) -> None:
    drift = desk.run("drift", *SCOPE)
    report = desk.run("report", *SCOPE)
    unexplained = [each for each in drift["findings"] if each["link"]["state"] == "unexplained"]
    assert [each["field"] for each in unexplained] == ["/spec/paused"]
    assert [each["path"] for each in report["unexplained"]] == ["/spec/paused"]
    assert report["unexplained"][0]["declared"] is unexplained[0]["declared"] is False


def test_a_report_agrees_with_itself_about_what_git_declares(desk: Desk) -> None:
    """What no longer differs from Git is in Git."""
    report = desk.run("report", *SCOPE)
    [write] = report["writes"]
    [change] = write["changes"]
    assert (change["path"], change["live"], change["git"]) == (REPLICAS, "yes", "yes")
    assert [each["path"] for each in report["obligations"]] == ["/spec/paused"]


@pytest.mark.parametrize("command", ["drift", "report", "review"])
def test_git_is_rendered_once_as_one_release(desk: Desk, command: str) -> None:
    desk.run(command, *SCOPE)
    [rendering] = desk.renderings
    assert rendering.startswith(f"template web {desk.chart} --include-crds --namespace shop")


@pytest.mark.parametrize("command", ["drift", "report"])
def test_the_ledger_is_opened_once(
    desk: Desk, count_ledgers: Callable[[], int], command: str
) -> None:
    with closing(open_sqlite(desk.folder / "ledger.db", create=False)):
        once = count_ledgers()
    desk.run(command, *SCOPE)
    assert count_ledgers() == 2 * once > 0


def test_grants_agree_with_a_report_about_what_is_in_git(desk: Desk) -> None:
    [grant] = desk.run("grants", "--all", "--since", "2026-01-01", *SCOPE)
    assert [(each["live"], each["git"]) for each in grant["fields"]] == [("yes", "yes")]


def test_a_blamed_line_has_the_revision_of_the_same_rendering(desk: Desk) -> None:
    options = ["--ledger", f"sqlite://{desk.folder}/ledger.db", "--live", str(desk.live)]
    options += ["--git", str(desk.chart), "--values", str(desk.folder / "values.yaml"), *SCOPE]
    text = CliRunner().invoke(main, ["blame", "deploy/web", *options]).stdout
    [line] = [each for each in text.splitlines() if "replicas: 8" in each]
    assert "helm template" in line
