"""`glasswarden drift`, on folders."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from glasswarden.cli.main import main
from glasswarden.kube.objects import Object
from tests.correlator.builders import owned
from tests.correlator.sources.test_imports import WHOLE
from tests.kube.builders import a_deployment, an_entry, an_object

REPLICAS = "/spec/replicas"


@pytest.fixture
def git(tmp_path: Path) -> Path:
    folder = tmp_path / "git"
    folder.mkdir()
    (folder / "web.json").write_text(json.dumps(a_deployment(replicas=3)))
    return folder


@pytest.fixture
def live(tmp_path: Path) -> Path:
    folder = tmp_path / "live"
    folder.mkdir()
    return folder


def holds(folder: Path, *objects: Object) -> None:
    for number, each in enumerate(objects):
        (folder / f"{number}.json").write_text(json.dumps(each))


def scaled(replicas: int, manager: str = "kubectl") -> Object:
    return owned(a_deployment(replicas=replicas), an_entry(manager, REPLICAS))


def drift(git: Path, live: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        main, ["drift", "--git", str(git), "--live", str(live), *arguments], env={"COLUMNS": "100"}
    )


def test_json_has_field_declared_and_live_value(git: Path, live: Path) -> None:
    holds(live, scaled(5))
    result = drift(git, live, "--format", "json")
    assert result.exit_code == 0
    [finding] = json.loads(result.stdout)["findings"]
    assert (finding["field"], finding["declared"], finding["live"]) == (REPLICAS, 3, 5)
    assert finding["object"]["name"] == "web"


def test_table_has_the_field_and_the_count_of_findings(git: Path, live: Path) -> None:
    holds(live, scaled(5))
    result = drift(git, live)
    assert REPLICAS in result.stdout
    assert "1 finding in 1 object" in result.stdout


def test_markdown_has_the_field(git: Path, live: Path) -> None:
    holds(live, scaled(5))
    assert f"`{REPLICAS}`" in drift(git, live, "--format", "markdown").stdout


CODES = [
    pytest.param(scaled(3), 0, id="no drift"),
    pytest.param(scaled(5), 1, id="drift"),
    pytest.param(scaled(5, "kube-controller-manager"), 0, id="an autoscaler's"),
    pytest.param(an_object("apps/v1beta1/Deployment"), 2, id="what cannot be compared"),
]


@pytest.mark.parametrize(("obj", "code"), CODES)
def test_exit_code_option_returns_the_result(git: Path, live: Path, obj: Object, code: int) -> None:
    holds(live, obj)
    assert drift(git, live, "--exit-code").exit_code == code


def test_drift_exits_zero_without_the_exit_code_option(git: Path, live: Path) -> None:
    holds(live, scaled(5))
    assert drift(git, live).exit_code == 0


def test_broken_manifest_is_reported_as_incomplete(git: Path, live: Path) -> None:
    (git / "broken.yaml").write_text("a: b: c")
    holds(live, scaled(3))
    result = drift(git, live, "--exit-code")
    assert result.exit_code == 2
    assert "broken.yaml, line 1" in result.stdout
    assert "No drift in what could be inspected" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--path", "nowhere"], "has no nowhere"),
        (["--since", "often"], "is not a duration"),
        (["--watch"], "need a cluster"),
        (["--confirm"], "need a cluster"),
    ],
)
def test_invalid_arguments_are_usage_errors(
    git: Path, live: Path, arguments: list[str], says: str
) -> None:
    result = drift(git, live, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_path_that_is_no_repository_is_a_usage_error(tmp_path: Path, live: Path) -> None:
    result = drift(tmp_path / "nowhere@main", live)
    assert result.exit_code == 2
    assert "not a folder" in result.stderr


def test_unusable_kubeconfig_is_a_usage_error(git: Path, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("{}")
    result = CliRunner().invoke(main, ["drift", "--git", str(git), "--kubeconfig", str(kubeconfig)])
    assert result.exit_code == 2
    assert "no kubeconfig that can be used" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["--app", "shop"], 1),
        (["--app", "other"], 0),
        (["--kind", "deployment"], 1),
        (["--kind", "Service"], 0),
        (["--namespace", "prod"], 1),
        (["--namespace", "test"], 0),
        (["--since", "1h"], 0),
    ],
)
def test_options_filter_the_findings(
    git: Path, live: Path, arguments: list[str], count: int
) -> None:
    holds(live, scaled(5))
    result = drift(git, live, "--format", "json", *arguments)
    assert len(json.loads(result.stdout)["findings"]) == count


def test_findings_of_other_programs_are_imported(tmp_path: Path) -> None:
    file = tmp_path / "diff"
    file.write_text(WHOLE)
    command = ["drift", "--import", f"kubectl-diff={file}", "--format", "json"]
    result = CliRunner().invoke(main, command)
    [finding] = json.loads(result.stdout)["findings"]
    assert (finding["field"], finding["source"]) == (REPLICAS, "kubectl-diff")
    assert finding["response"] == "alert"


@pytest.mark.parametrize("wrong", ["kubectl-diff", "nonsense=x", "kubectl-diff="])
def test_malformed_import_option_is_a_usage_error(wrong: str) -> None:
    result = CliRunner().invoke(main, ["drift", "--import", wrong])
    assert result.exit_code == 2
    assert "FORMAT=FILE" in result.stderr


def test_drift_needs_a_declared_source() -> None:
    result = CliRunner().invoke(main, ["drift"])
    assert result.exit_code == 2
    assert "--git" in result.stderr


def test_unreadable_policy_is_no_drift_exit_code(git: Path, live: Path, tmp_path: Path) -> None:
    holds(live, scaled(3))
    result = drift(git, live, "--exit-code", "--policy", str(tmp_path / "nowhere.yaml"))
    assert result.exit_code == 2


LOST = [
    pytest.param(["--argocd", "http://127.0.0.1:1"], "Argo CD", id="Argo CD"),
    pytest.param(["--argocd", "core", "--argocd-ca", "/nowhere"], "", id="what is not asked"),
    pytest.param(["--ledger", "sqlite:///nowhere/at.db"], "the ledger", id="the ledger"),
    pytest.param(["--import", "json=/nowhere"], "--import json=/nowhere", id="a file"),
]


@pytest.mark.parametrize(("arguments", "what"), LOST)
def test_unavailable_source_is_incomplete_and_hides_no_other_finding(
    git: Path, live: Path, arguments: list[str], what: str
) -> None:
    holds(live, scaled(5))
    told = json.loads(drift(git, live, "--format", "json", *arguments).stdout)
    assert [each["field"] for each in told["findings"]] == [REPLICAS]
    assert what in {"", *(each["what"] for each in told["incomplete"])}


@pytest.mark.parametrize("place", ["nowhere@main", "nowhere"])
def test_unavailable_git_is_incomplete_and_hides_no_imported_finding(
    tmp_path: Path, live: Path, place: str
) -> None:
    file = tmp_path / "diff"
    file.write_text(WHOLE)
    result = drift(
        tmp_path / place,
        live,
        "--import",
        f"kubectl-diff={file}",
        "--format",
        "json",
        "--exit-code",
    )
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert [each["source"] for each in told["findings"]] == ["kubectl-diff"]
    assert [each["what"].split()[0] for each in told["incomplete"]] == ["--git"]


def test_unavailable_cluster_is_incomplete_and_hides_no_imported_finding(
    git: Path, tmp_path: Path
) -> None:
    (tmp_path / "kubeconfig").write_text("{}")
    (tmp_path / "diff").write_text(WHOLE)
    where = ["--git", str(git), "--kubeconfig", str(tmp_path / "kubeconfig")]
    command = ["drift", *where, "--import", f"kubectl-diff={tmp_path / 'diff'}", "--format", "json"]
    told = json.loads(CliRunner().invoke(main, command).stdout)
    assert [each["field"] for each in told["findings"]] == [REPLICAS]
    assert [each["what"] for each in told["incomplete"]] == ["the cluster"]


def test_drift_fails_when_every_source_is_unavailable(live: Path, tmp_path: Path) -> None:
    arguments = ["--argocd", "http://127.0.0.1:1", "--ledger", f"sqlite://{tmp_path}/no.db"]
    result = drift(tmp_path / "nowhere@main", live, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert all(each in result.stderr for each in ("127.0.0.1:1", "no.db", "not a folder"))


def test_field_in_git_and_import_is_listed_once(git: Path, live: Path, tmp_path: Path) -> None:
    holds(live, scaled(5))
    (tmp_path / "diff").write_text(WHOLE)
    result = drift(git, live, "--format", "json", "--import", f"kubectl-diff={tmp_path / 'diff'}")
    found = json.loads(result.stdout)["findings"]
    assert [(each["field"], each["source"]) for each in found] == [(REPLICAS, "git")]


@pytest.mark.parametrize(
    "given", [["--confirm"], ["--argocd", "core"], ["--import", "json=x"], ["--audit-log", "x"]]
)
def test_watch_rejects_options_for_other_sources_than_git(
    git: Path, tmp_path: Path, given: list[str]
) -> None:
    (tmp_path / "x").write_text("")
    given = [str(tmp_path / "x") if each == "x" else each for each in given]
    result = CliRunner().invoke(main, ["drift", "--git", str(git), "--watch", *given])
    assert result.exit_code == 2
    assert f"--watch goes by Git alone, not by {given[0]}" in result.stderr
