"""`glasswarden report` on a ledger in a file, with the cluster and Git in folders."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from glasswarden.cli.main import main
from glasswarden.ledger.keys import make_keys
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.correlator.attribution.builders import UID, at, wrote
from tests.correlator.report.builders import granted
from tests.ledger.builders import an_opening, records_of

REPLICAS = "/spec/replicas"


class Desk:
    """A ledger, what is live, and what Git declares."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.live, self.git = folder, folder / "live", folder / "git"
        self.live.mkdir()
        self.git.mkdir()

    def recorded(self, *attempts: Attempt, cluster: str = "test") -> None:
        written = (replace(each, cluster=cluster) for each in attempts)
        records = records_of(an_opening(cluster=cluster), *written, writer=f"of-{cluster}")
        with closing(open_sqlite(self.folder / "ledger.db")) as ledger:
            ledger.append(records)

    def holds(self, place: Path, **spec: Any) -> None:  # noqa: ANN401 - any field
        entry = {
            "manager": "kubectl-edit",
            "operation": "Update",
            "time": f"{at(9):%Y-%m-%dT%H:%M:%SZ}",
            "fieldsV1": {"f:spec": {f"f:{name}": {} for name in spec}},
        }
        metadata = {"name": "web", "namespace": "shop", "uid": UID, "managedFields": [entry]}
        web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        (place / "web.json").write_text(json.dumps(web))

    def typed(self, *words: str) -> Result:
        command = ["report", "--ledger", f"sqlite://{self.folder}/ledger.db", *words]
        return CliRunner().invoke(main, command)

    def told(self, *words: str) -> dict[str, Any]:
        result = self.typed("--live", str(self.live), *words, "--format", "json")
        assert result.exit_code == 0, result.output
        told: dict[str, Any] = json.loads(result.stdout)
        return told


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def refused(minute: float, **differing: Any) -> Attempt:  # noqa: ANN401 - any field
    return wrote(minute, REPLICAS, new=7, verdict="deny", actor="developer", **differing)


def test_report_by_ticket_includes_denials_on_its_objects_in_its_time(desk: Desk) -> None:
    """A denied write has no ticket to name."""
    desk.recorded(
        refused(-120),
        refused(0),
        refused(0.5, name="other"),
        granted(1, REPLICAS, old=5, new=8),
        refused(20),
        refused(200),
    )
    desk.holds(desk.live, replicas=8)
    told = desk.told("--ticket", "INC-42")
    assert [(each["actor"], each["verdict"]) for each in told["writes"]] == [
        ("developer", "deny"),
        ("responder", "allow"),
        ("developer", "deny"),
    ]
    narrowed = desk.told("--ticket", "INC-42", "--actor", "responder")
    assert [each["actor"] for each in narrowed["writes"]] == ["responder"]


def test_difference_to_git_without_a_record_is_unexplained(desk: Desk) -> None:
    desk.recorded(granted(1, REPLICAS, old=5, new=8))
    desk.holds(desk.git, replicas=8, paused=False)
    desk.holds(desk.live, replicas=8, paused=True)
    told = desk.told("-n", "shop", "--git", str(desk.git))
    [found] = told["unexplained"]
    assert (found["path"], found["declared"], found["live"]) == ("/spec/paused", False, True)
    assert found["why"].startswith("no record changes this field")
    assert [each["path"] for each in told["obligations"]] == ["/spec/paused"]


def test_missing_comparison_with_git_is_reported_as_incomplete(desk: Desk) -> None:
    desk.recorded(granted(1, REPLICAS, old=5, new=8))
    desk.holds(desk.live, replicas=8)
    what = "what differs from Git without a record"
    assert f"{what}: needs --git" in desk.told("-n", "shop")["incomplete"]
    unseen = desk.typed("-n", "shop", "--git", str(desk.git), "--no-live").stdout
    assert f"{what}: no cluster was asked" in unseen


class TestSeveralClusters:
    @pytest.fixture(autouse=True)
    def _two(self, desk: Desk) -> None:
        desk.recorded(granted(1, REPLICAS, old=5, new=8))
        desk.recorded(granted(2, REPLICAS, old=5, new=9), cluster="other")
        desk.holds(desk.live, replicas=8)

    def test_live_state_needs_the_cluster_option(self, desk: Desk) -> None:
        asked = desk.typed("--ticket", "INC-42", "--live", str(desk.live))
        assert asked.exit_code == 2
        assert "name one of the clusters with --cluster: other, test" in asked.output
        [write] = desk.told("--ticket", "INC-42", "--cluster", "test")["writes"]
        assert write["changes"][0]["live"] == "yes"

    def test_objects_are_listed_with_their_cluster_with_no_live(self, desk: Desk) -> None:
        text = desk.typed("--ticket", "INC-42", "--no-live").stdout
        assert "Deployment shop/web in cluster test" in text
        assert "Deployment shop/web in cluster other" in text
        assert "no longer live" not in text


def test_chain_is_verified_by_the_trusted_key(desk: Desk) -> None:
    """A chain that somebody wrote with a key of their own must not pass for the webhook's."""
    desk.recorded(granted(1, REPLICAS, old=5, new=8))
    asked = ("-n", "shop", "--verify")
    found = desk.told(*asked)["integrity"]
    assert (found["verdict"], "none was given to trust" in found["statement"]) == ("yes", True)
    make_keys(desk.folder / "ledger.db.keys", at(0))
    found = desk.told(*asked)["integrity"]
    assert (found["verdict"], "is not a trusted one" in found["findings"][0]) == ("no", True)
