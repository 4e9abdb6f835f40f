"""`glasswarden drift --ledger`: who did it, on folders and a ledger in a file."""

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from correlator.finding import Result as Findings
from correlator.inspection.evidence import Evidence
from correlator.inspection.inspect import Pass
from correlator.inspection.scope import InspectionScope
from glasswarden.cli.drift import inspect_and_render
from glasswarden.cli.main import main
from glasswarden.kube.objects import Object
from glasswarden.ledger.keys import make_mask, open_masks
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.correlator.attribution.builders import UID, at, wrote
from tests.correlator.builders import owned
from tests.kube.builders import a_deployment, an_entry, an_object
from tests.ledger.builders import an_opening, records_of

REPLICAS = "/spec/replicas"
EVIL = "\x1b[2J|`web`"


class Desk:
    """A repository, a snapshot of the cluster, and a ledger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git, self.live = folder / "git", folder / "live"
        self.git.mkdir()
        self.live.mkdir()
        self.put(self.git, a_deployment(replicas=3))
        self.put(self.live, scaled(8))
        self.ledger = f"sqlite://{folder}/ledger.db"
        self.recorded()

    def put(self, folder: Path, obj: Object) -> None:
        (folder / f"{obj['kind']}.json").write_text(json.dumps(obj))

    def recorded(self, *attempts: Attempt, cluster: str = "test") -> None:
        """Store *attempts* as a chain of their own."""
        with closing(open_sqlite(self.folder / "ledger.db")) as ledger:
            beginning = an_opening(time=at(-60), cluster=cluster)
            writer = f"writer-{len(ledger.heads())}"
            ledger.append(records_of(beginning, *attempts, writer=writer))

    def drift(self, *words: str) -> Result:
        given = ["--git", str(self.git), "--live", str(self.live), "--ledger", self.ledger]
        command = ["drift", *given, *words]
        return CliRunner().invoke(main, command, env={"COLUMNS": "140"})

    def links(self, *words: str) -> list[Any]:
        result = self.drift("--format", "json", *words)
        assert result.exit_code == 0, result.stderr
        return [each["link"] for each in json.loads(result.stdout)["findings"]]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def stamp(minute: float) -> str:
    return at(minute).strftime("%Y-%m-%dT%H:%M:%SZ")


def scaled(replicas: int) -> Object:
    live = owned(a_deployment(replicas=replicas), an_entry("kubectl-edit", REPLICAS, time=stamp(1)))
    live["metadata"] |= {"uid": UID}
    return live


def hotfix(**differing: Any) -> Attempt:  # noqa: ANN401 - any field of an attempt
    fields = {"namespace": "prod", "ticket": "INC-42", "grant": "g1", "manager": "kubectl-edit"}
    return wrote(1, REPLICAS, old=3, new=8, **fields | differing)


def test_json_names_actor_ticket_grant_and_records(desk: Desk) -> None:
    desk.recorded(write := hotfix())
    [link] = desk.links()
    assert (link["state"], link["actor"], link["ticket"]) == ("explained", "responder", "INC-42")
    assert (link["grant"], link["records"]) == ("g1", [write.id])


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_table_and_markdown_name_actor_and_ticket(desk: Desk, form: str) -> None:
    desk.recorded(hotfix())
    text = desk.drift("--format", form).stdout
    assert "responder" in text
    assert "INC" in text


def test_table_counts_explained_findings(desk: Desk) -> None:
    desk.recorded(hotfix())
    assert "1 finding in 1 object: 1 explained" in desk.drift().stdout


def test_finding_without_a_record_is_unexplained(desk: Desk) -> None:
    [link] = desk.links()
    assert (link["state"], link["actor"]) == ("unexplained", "")
    assert "unexplained: " in desk.drift().stdout


def test_unexplained_option_hides_explained_findings(desk: Desk) -> None:
    assert len(desk.links("--unexplained")) == 1
    desk.recorded(hotfix())
    assert desk.links("--unexplained") == []


def test_finding_has_no_link_without_a_ledger(desk: Desk) -> None:
    command = ["drift", "--git", str(desk.git), "--live", str(desk.live), "--format", "json"]
    [finding] = json.loads(CliRunner().invoke(main, command).stdout)["findings"]
    assert finding["link"] is None


def test_unexplained_option_needs_a_ledger(desk: Desk) -> None:
    command = ["drift", "--git", str(desk.git), "--live", str(desk.live), "--unexplained"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert "--ledger" in result.stderr


class TestLedgerOfSeveralClusters:
    def test_cluster_option_is_required(self, desk: Desk) -> None:
        desk.recorded(hotfix(cluster="other"), cluster="other")
        result = desk.drift()
        assert result.exit_code == 2
        assert "--cluster: other, test" in result.stderr

    def test_cluster_option_selects_the_records(self, desk: Desk) -> None:
        desk.recorded(hotfix(cluster="other"), cluster="other")
        assert [each["actor"] for each in desk.links("--cluster", "test")] == [""]
        assert [each["actor"] for each in desk.links("--cluster", "other")] == ["responder"]

    def test_policy_selects_the_cluster(self, desk: Desk, tmp_path: Path) -> None:
        desk.recorded(hotfix(cluster="other"), cluster="other")
        policy = tmp_path / "policy.yaml"
        policy.write_text("apiVersion: glasswarden.io/v1\nkind: Policy\ncluster: other\n")
        assert [each["actor"] for each in desk.links("--policy", str(policy))] == ["responder"]


class TestSecrets:
    PATH = "/data/password"

    def recorded(self, desk: Desk) -> None:
        keys = desk.folder / "ledger.db.keys"
        keys.mkdir(mode=0o700)
        make_mask(keys, at(-99))
        masked = open_masks(keys).mask(self.PATH, "aHVudGVyMg==", at(1))
        secret = an_object("v1/Secret", name="web", namespace="prod", data={"password": "b2xk"})
        desk.put(desk.git, secret)
        live = {**secret, "data": {"password": "aHVudGVyMg=="}}
        live["metadata"] = {**secret["metadata"], "uid": UID}
        desk.put(desk.live, owned(live, an_entry("kubectl-edit", self.PATH, time=stamp(2))))
        about = {"group": "", "kind": "Secret", "namespace": "prod", "manager": "kubectl-edit"}
        desk.recorded(hotfix(), wrote(2, self.PATH, new_masked=masked, actor="lead", **about))

    def test_masked_value_is_compared_and_not_shown(self, desk: Desk) -> None:
        self.recorded(desk)
        result = desk.drift("--format", "json", "--kind", "Secret")
        [finding] = json.loads(result.stdout)["findings"]
        assert (finding["live"], finding["link"]["actor"]) == ("(hidden)", "lead")
        assert "aHVudGVyMg" not in result.stdout

    def test_keys_option_needs_a_folder_with_keys(self, desk: Desk) -> None:
        result = desk.drift("--keys", str(desk.folder))
        assert result.exit_code == 2
        assert "holds no key" in result.stderr


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_control_characters_in_names_and_tickets_are_escaped(desk: Desk, form: str) -> None:
    desk.recorded(hotfix(actor=EVIL, ticket=EVIL, manager="kubectl-edit"))
    text = desk.drift("--format", form).stdout
    assert "2J" in text
    assert all(char.isprintable() or char == "\n" for char in text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.replace(r"\|", "").count("|") for row in rows} <= {11}


def test_missing_ledger_is_incomplete_and_hides_no_finding(desk: Desk) -> None:
    desk.ledger = f"sqlite://{desk.folder}/nowhere.db"
    result = desk.drift("--format", "json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert [each["field"] for each in told["findings"]] == [REPLICAS]
    assert [each["what"] for each in told["incomplete"]] == ["the ledger"]
    assert "nowhere.db" in told["incomplete"][0]["why"]


def test_watch_fails_without_the_named_ledger(desk: Desk, tmp_path: Path) -> None:
    command = ["drift", "--git", str(desk.git), "--watch", "--ledger", f"sqlite://{tmp_path}/no.db"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert "no.db" in result.stderr


def test_watch_reads_the_open_grants(desk: Desk) -> None:
    """What it shows of them is judged as a single pass judges it."""
    expires = datetime(2999, 1, 1, tzinfo=UTC)
    desk.recorded(hotfix(grant_act="issued", grant_expires=expires))
    source = Wall()
    with closing(open_sqlite(desk.folder / "ledger.db")) as ledger:
        evidence = Evidence(ledger=ledger, cluster="test")
        shown = inspect_and_render(evidence, source, InspectionScope(), "table")
    assert source.open_grants == {"g1": expires}
    assert "No drift" in shown


class Wall:
    """Finds nothing, and keeps what it was asked by."""

    name, team, is_log = "git", "", False

    def __init__(self) -> None:
        self.open_grants: dict[str, datetime] = {}

    def read(self, inspection: Pass) -> Findings:
        self.open_grants = dict(inspection.base.open_grants)
        return Findings()

    def close(self) -> None:
        pass


class TestWithoutGit:
    """The ledger is then the only source."""

    @staticmethod
    def drift(desk: Desk, *words: str) -> Result:
        command = ["drift", "--live", str(desk.live), "--ledger", desk.ledger, *words]
        return CliRunner().invoke(main, command, env={"COLUMNS": "140"})

    def test_direct_write_that_is_still_live_is_found(self, desk: Desk) -> None:
        desk.recorded(write := hotfix())
        result = self.drift(desk, "--format", "json", "--exit-code")
        assert result.exit_code == 1
        [finding] = json.loads(result.stdout)["findings"]
        assert (finding["field"], finding["declared"], finding["live"]) == (REPLICAS, 3, 8)
        assert (finding["source"], finding["link"]["records"]) == ("ledger", [write.id])

    def test_result_without_findings_is_about_direct_writes_only(self, desk: Desk) -> None:
        result = self.drift(desk, "--exit-code")
        assert (result.exit_code, result.stdout) == (0, "No direct write that still stands\n")

    def test_objects_missing_from_the_live_folder_are_incomplete_and_not_deleted(
        self, desk: Desk
    ) -> None:
        desk.recorded(hotfix(name="other"))
        result = self.drift(desk, "--exit-code")
        assert result.exit_code == 2
        assert "No direct write that still stands in what could be inspected" in result.stdout
        assert "the folder does not hold it" in result.stdout

    def test_since_option_leaves_out_older_writes(self, desk: Desk) -> None:
        desk.recorded(hotfix())
        assert self.drift(desk, "--since", "1h", "--exit-code").exit_code == 0

    def test_confirm_and_watch_need_git(self, desk: Desk) -> None:
        assert "--git" in self.drift(desk, "--watch").stderr
        assert "--git" in self.drift(desk, "--confirm").stderr
