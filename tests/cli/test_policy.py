"""`glasswarden policy`, on reviews that a real API server sent (those of the demo)."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from glasswarden.demo.story import load_recording
from glasswarden.keys.folder import new_key, read_ring
from glasswarden.policy.breakglass.names import GRANT, REASON
from glasswarden.policy.breakglass.tokens import issue_stamp
from tests.cli.test_main import run
from tests.policy.breakglass.builders import HOUR, a_stamp
from tests.webhook.builders import a_deployment, a_request, as_review

HEAD = "apiVersion: glasswarden.io/v1\nkind: Policy\n"


@pytest.fixture
def edit(tmp_path: Path) -> Path:
    """Return a file with the recorded review of an edit of Flux's Deployment."""
    [step] = [each for each in load_recording().steps if "kubectl edit" in each.command]
    path = tmp_path / "edit.json"
    path.write_bytes(bytes(step.exchanges[-1].review))
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


class TestCheck:
    def test_valid_policy_is_reported_as_valid(self, tmp_path: Path) -> None:
        result = run("policy", "check", str(written(tmp_path / "p.yaml", f"{HEAD}cluster: eu")))
        assert (result.returncode, result.stderr) == (0, "")
        assert "a valid policy for cluster 'eu'" in result.stdout

    def test_mistake_is_reported_with_file_line_and_column(self, tmp_path: Path) -> None:
        path = written(tmp_path / "p.yaml", f"{HEAD}moode: warn")
        result = run("policy", "check", str(path))
        assert result.returncode == 1
        assert f"{path}:3:1: unknown key 'moode'; did you mean 'mode'?" in result.stderr

    def test_delegation_to_a_field_manager_alone_is_warned_about(self, tmp_path: Path) -> None:
        text = f"{HEAD}delegations: [{{name: x, managers: [helm], fields: [/spec/x]}}]"
        result = run("policy", "check", str(written(tmp_path / "p.yaml", text)))
        assert result.returncode == 0
        assert "a name that anybody can choose" in result.stderr

    def test_breakglass_rule_for_everybody_is_warned_about(self, tmp_path: Path) -> None:
        text = f"{HEAD}breakGlass: {{rules: [{{name: x, users: ['*']}}]}}"
        result = run("policy", "check", str(written(tmp_path / "p.yaml", text)))
        assert result.returncode == 0
        assert "the rule 'x' lets everybody use break-glass" in result.stderr

    def test_benign_rollout_undo_is_warned_about(self, tmp_path: Path) -> None:
        text = f"{HEAD}benign: [rollout-undo]"
        result = run("policy", "check", str(written(tmp_path / "p.yaml", text)))
        assert result.returncode == 0
        assert "rollout-undo lets through every change of a workload's template" in result.stderr

    def test_policy_is_read_from_standard_input(self) -> None:
        good = run("policy", "check", "-", stdin=f"{HEAD}cluster: eu")
        assert (good.returncode, good.stderr) == (0, "")
        assert "a valid policy for cluster 'eu'" in good.stdout
        wrong = run("policy", "check", "-", stdin=f"{HEAD}moode: warn")
        assert wrong.returncode == 1
        assert "<stdin>:3:1: unknown key 'moode'" in wrong.stderr

    def test_missing_file_is_an_error(self, tmp_path: Path) -> None:
        result = run("policy", "check", str(tmp_path / "none"))
        assert result.returncode == 1
        assert "No such file" in result.stderr


class TestExplain:
    def test_explanation_is_rendered_as_json(self, edit: Path) -> None:
        told = json.loads(run("policy", "explain", str(edit), "--format", "json").stdout)
        clauses = told.pop("clauses")
        message = told.pop("message")
        assert told == {
            "verdict": "deny",
            "mode": "enforce",
            "clause": "guard",
            "owner": {"engine": "flux", "app": "shop", "namespace": "flux-system"},
            "changes": [{"path": "/spec/replicas", "old": 5, "new": 3, "manager": "kubectl-edit"}],
            "warnings": [],
            "grant": None,
        }
        assert message.startswith("Deployment shop/web is managed by Flux")
        assert [each["clause"] for each in clauses if each["applies"]] == ["guard"]
        assert all(each["why"] for each in clauses)

    def test_explanation_is_rendered_as_text(self, edit: Path) -> None:
        text = run("policy", "explain", str(edit)).stdout
        assert "changes  /spec/replicas: 5 → 3" in text
        assert "  controller  the writer is no trusted controller of that owner" in text
        assert "→ guard       Deny what no clause allowed" in text
        assert "verdict  deny by guard (mode here: enforce)" in text

    def test_clauses_after_the_deciding_one_are_listed_as_not_asked(self, tmp_path: Path) -> None:
        plain = a_deployment(labels={})
        review = tmp_path / "edit.json"
        review.write_bytes(as_review(a_request(oldObject=plain, object=plain)))
        told = json.loads(run("policy", "explain", str(review), "--format", "json").stdout)
        first, *rest = told["clauses"]
        assert (first["clause"], first["asked"], first["applies"]) == ("unmanaged", True, True)
        assert [each["clause"] for each in rest][-1] == "guard"
        assert not any(each["asked"] or each["applies"] for each in rest)
        text = run("policy", "explain", str(review)).stdout
        assert "  guard       not asked: unmanaged has decided" in text

    def test_policy_option_decides_the_review(self, edit: Path, tmp_path: Path) -> None:
        policy = written(tmp_path / "p.yaml", f"{HEAD}mode: warn")
        told = run("policy", "explain", str(edit), "--policy", str(policy), "--format", "json")
        explanation = json.loads(told.stdout)
        assert (explanation["verdict"], explanation["mode"]) == ("allow", "warn")
        assert explanation["warnings"]

    def test_grant_is_valid_only_with_the_keys_that_signed_it(self, tmp_path: Path) -> None:
        now = datetime.now(UTC)
        new_key(tmp_path, "grant", now)
        stamp = a_stamp(actor="developer", actor_uid="", start=now, expires=now + HOUR)
        old, new = a_deployment(replicas=3), a_deployment(replicas=5)
        token = issue_stamp(stamp, read_ring(tmp_path, "grant"), now)
        for each in (old, new):
            each["metadata"]["annotations"] = {REASON: "checkout is down", GRANT: token}
        review = tmp_path / "edit.json"
        review.write_bytes(as_review(a_request(oldObject=old, object=new)))
        rules = "breakGlass: {rules: [{name: responders, groups: [developers]}]}"
        policy = written(tmp_path / "p.yaml", f"{HEAD}{rules}")
        asked = ("policy", "explain", str(review), "--policy", str(policy), "--format", "json")
        told = json.loads(run(*asked, "--keys", str(tmp_path)).stdout)
        assert (told["verdict"], told["clause"]) == ("allow", "breakglass")
        assert (told["grant"]["act"], told["grant"]["ticket"]) == ("used", "INC-42")
        [why] = [
            each["why"]
            for each in json.loads(run(*asked).stdout)["clauses"]
            if each["clause"] == "breakglass"
        ]
        assert why == "the stamp does not count: its key is not known, or was revoked"

    def test_scale_review_needs_its_parent_object(self, tmp_path: Path) -> None:
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}
        request = a_request(
            subResource="scale",
            oldObject=scale | {"spec": {"replicas": 1}},
            object=scale | {"spec": {"replicas": 2}},
        )
        review = tmp_path / "scale.json"
        review.write_bytes(as_review(request))
        alone = run("policy", "explain", str(review))
        assert alone.returncode == 1
        assert "--parent" in alone.stderr
        parent = written(tmp_path / "web.json", json.dumps(a_deployment()))
        told = run("policy", "explain", str(review), "--parent", str(parent), "--format", "json")
        assert json.loads(told.stdout)["verdict"] == "deny"

    def test_file_that_is_no_review_is_an_error(self, tmp_path: Path) -> None:
        result = run("policy", "explain", str(written(tmp_path / "x.json", "{}")))
        assert result.returncode == 1
        assert "not an admission.k8s.io/v1 AdmissionReview" in result.stderr
        assert "Traceback" not in result.stderr


class TestPolicyTest:
    def cases(self, *expectations: dict[str, Any]) -> str:
        return json.dumps(
            {
                "cases": [
                    {"name": f"case {number}", "review": "edit.json", "expect": expected}
                    for number, expected in enumerate(expectations, start=1)
                ]
            }
        )

    def test_case_with_the_expected_verdict_passes(self, edit: Path, tmp_path: Path) -> None:
        expected = {"verdict": "deny", "clause": "guard", "engine": "flux", "says": "managed by"}
        written(edit.parent / "cases.yaml", self.cases(expected))
        result = run("policy", "test", str(tmp_path))
        assert result.returncode == 0
        assert result.stdout.endswith("1 passed, 0 failed\n")

    def test_case_with_another_verdict_fails_with_the_difference(
        self, edit: Path, tmp_path: Path
    ) -> None:
        written(edit.parent / "cases.yaml", self.cases({"verdict": "allow"}, {"verdict": "deny"}))
        junit = tmp_path / "junit.xml"
        result = run("policy", "test", str(tmp_path), "--junit", str(junit))
        assert result.returncode == 1
        assert "verdict is deny, expected allow" in result.stdout
        suite = ET.fromstring(junit.read_bytes())  # noqa: S314 - written a moment ago
        assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")

    def test_policy_named_by_the_cases_is_used(self, edit: Path, tmp_path: Path) -> None:
        written(edit.parent / "policy.yaml", f"{HEAD}mode: audit")
        cases = json.loads(self.cases({"verdict": "allow", "mode": "audit"}))
        written(edit.parent / "cases.yaml", json.dumps(cases | {"policy": "policy.yaml"}))
        assert run("policy", "test", str(tmp_path)).returncode == 0

    @pytest.mark.parametrize(
        "content",
        [
            "cases: [",
            "cases: [{name: x}]",
            "cases: [{name: x, review: none, expect: {verdict: deny}}]",
        ],
        ids=["not YAML", "not a case", "no review"],
    )
    def test_invalid_case_is_an_error(self, tmp_path: Path, content: str) -> None:
        written(tmp_path / "cases.yaml", content)
        result = run("policy", "test", str(tmp_path))
        assert result.returncode == 2
        assert "Traceback" not in result.stderr

    def test_folder_without_cases_is_an_error(self, tmp_path: Path) -> None:
        assert run("policy", "test", str(tmp_path)).returncode == 2


class TestSimulate:
    @pytest.mark.parametrize("content", ["{", "[]", '{"kind": "Pod"}'])
    def test_line_that_is_no_audit_event_is_reported_with_its_number(
        self, tmp_path: Path, content: str
    ) -> None:
        log = written(tmp_path / "audit.log", f"\n{content}\n")
        result = run("policy", "simulate", str(log))
        assert result.returncode == 1
        assert f"{log}:2: not" in result.stderr

    def test_undecidable_events_are_counted_with_the_reason(self, tmp_path: Path) -> None:
        event = {
            "kind": "Event",
            "auditID": "1",
            "stage": "ResponseComplete",
            "requestReceivedTimestamp": "2026-03-01T12:00:00Z",
            "stageTimestamp": "2026-03-01T12:00:00Z",
            "verb": "patch",
            "user": {"username": "developer"},
            "objectRef": {"resource": "deployments", "namespace": "shop", "name": "web"},
            "responseStatus": {"code": 200},
        }
        log = tmp_path / "audit.log.gz"
        log.write_bytes(gzip.compress(json.dumps(event).encode()))
        result = run("policy", "simulate", str(log))
        assert result.stdout.splitlines() == [
            "0 writes judged, 0 would have been denied",
            "      1  not judged: the audit policy records no objects here",
        ]


def test_published_policy_schema_is_up_to_date() -> None:
    published = Path(__file__).parents[2] / "docs" / "policy.schema.json"
    assert run("policy", "schema").stdout == published.read_text()
