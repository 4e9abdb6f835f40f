"""`--audit-log` on the command line, with a log that a real API server wrote."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from glasswarden.cli.main import main
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.cluster.applications import by_flux, deployment
from tests.correlator.audit.recorded import FOLDER, LOG, documents
from tests.ledger.builders import an_opening, records_of

IMAGE = "/spec/template/spec/containers[name=app]/image"


class Desk:
    """A repository, the cluster as the story left it, an empty ledger, and the log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git, self.live = folder / "git", folder / "live"
        self.git.mkdir()
        self.live.mkdir()
        for name in ("web", "api", "old"):
            text = json.dumps(by_flux(deployment(name, "shop"), "shop"))
            (self.git / f"{name}.json").write_text(text)
        for number, obj in enumerate(json.loads((FOLDER / "live.json").read_text())):
            (self.live / f"{number}.json").write_text(json.dumps(obj))
        with closing(open_sqlite(folder / "ledger.db")) as ledger:
            ledger.append(records_of(an_opening(cluster="test")))
        self.policy = folder / "policy.yaml"
        head = "apiVersion: glasswarden.io/v1\nkind: Policy\n"
        self.policy.write_text(f"{head}cluster: test\nmode: warn\nemergencyGroup: leads\n")

    def run(self, *words: str) -> Result:
        command = ["drift", "--policy", str(self.policy), *words]
        return CliRunner().invoke(main, command, env={"COLUMNS": "140"})

    def found(self, *words: str) -> dict[str, Any]:
        result = self.run(*words, "--format", "json")
        assert result.exit_code == 0, result.stderr
        told: dict[str, Any] = json.loads(result.stdout)
        return told

    def scanned(self, *words: str) -> dict[str, Any]:
        """Return what is found by Git, the ledger and the log together."""
        ledger = f"sqlite://{self.folder}/ledger.db"
        given = ["--git", str(self.git), "--live", str(self.live), "--ledger", ledger]
        return self.found(*given, "--audit-log", str(LOG), *words)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_audit_log_alone_reports_writes_that_bypassed_the_webhook(desk: Desk) -> None:
    told = desk.found("--audit-log", str(LOG))
    assert {each["source"] for each in told["findings"]} == {"audit"}
    assert [each["link"]["actor"] for each in told["findings"]] == [
        *["lead"] * 5, "developer", "admin", "developer", "admin", "developer", "admin", "admin",
    ]  # fmt: skip
    assert [each["what"] for each in told["incomplete"]] == ["1 writes of the emergency group"]


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_table_and_markdown_name_who_bypassed_the_webhook(desk: Desk, form: str) -> None:
    text = desk.run("--audit-log", str(LOG), "--format", form).stdout
    plain = " ".join(text.replace("\\", "").split())
    assert "lead from 127.0.0.1 patched it" in plain.replace("Lead", "lead")
    assert "escalate" in plain


def test_drifted_field_is_attributed_to_the_actor_in_the_audit_log(desk: Desk) -> None:
    links = {
        (each["object"]["name"], each["field"]): each["link"]
        for each in desk.scanned()["findings"]
        if each["source"] != "audit"
    }
    bypassed, failed = links["api", IMAGE], links["web", IMAGE]
    assert (bypassed["state"], bypassed["actor"]) == ("unexplained", "lead")
    assert bypassed["why"].startswith("bypassed by the emergency group at ")
    assert (failed["actor"], failed["address"]) == ("developer", "127.0.0.1")
    assert failed["why"].startswith("the webhook failed open at ")
    assert links["old", "/"]["actor"] == "lead"


def test_kind_option_filters_findings_of_the_audit_log(desk: Desk) -> None:
    narrowed = desk.found("--audit-log", str(LOG), "--kind", "ConfigMap")["findings"]
    assert [each["object"]["name"] for each in narrowed] == ["settings"]


class TestAuditLogFiles:
    def test_rotated_files_are_read_from_a_folder_or_a_pattern(self, desk: Desk) -> None:
        lines = [json.dumps(each) for each in documents()]
        logs = desk.folder / "logs"
        logs.mkdir()
        (logs / "audit.log").write_text("\n".join(lines[16:]) + "\n")
        (logs / "audit-2026-11-16T22-28-30.000.log").write_text("\n".join(lines[:16]) + "\n")
        whole = desk.found("--audit-log", str(LOG))["findings"]
        for given in (str(logs), str(logs / "audit*.log")):
            assert desk.found("--audit-log", given)["findings"] == whole

    def test_missing_file_is_a_usage_error(self, desk: Desk) -> None:
        result = desk.run("--audit-log", str(desk.folder / "none"))
        assert result.exit_code == 2
        assert "no file of an audit log" in result.stderr

    def test_line_that_is_no_event_is_reported_as_incomplete(self, desk: Desk) -> None:
        log = desk.folder / "audit.log"
        log.write_text("nonsense\n")
        told = desk.found("--audit-log", str(log))
        assert told["findings"] == []
        whats = [each["what"] for each in told["incomplete"]]
        assert whats == [f"{log}:1 of the audit log", "the audit log"]
        assert desk.run("--audit-log", str(log), "--exit-code").exit_code == 2

    def test_audit_log_cannot_be_combined_with_watch(self, desk: Desk) -> None:
        result = desk.run("--git", str(desk.git), "--audit-log", str(LOG), "--watch")
        assert (result.exit_code, "--watch" in result.stderr) == (2, True)
