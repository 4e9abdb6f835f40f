"""`glasswarden review` on a ledger in a file: what it reports, and what it could not know."""

import json
import os
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from correlator.episodes.episode import Changes
from correlator.episodes.open import open_history
from glasswarden.cli.main import main
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.correlator.attribution.builders import wrote
from tests.correlator.episodes.builders import a_sighting
from tests.ledger.builders import an_opening, records_of

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """Return a ledger with one field changed twice this week, and once the week before."""
    file = tmp_path / "ledger.db"
    times = (NOW - timedelta(days=9), NOW - 5 * HOUR, NOW - HOUR)
    writes = [wrote(0, "/spec/replicas", old=3, new=8, time=time, app="shop") for time in times]
    with closing(open_sqlite(file)) as opened:
        opened.append(records_of(an_opening(time=times[0], cluster="test"), *writes))
    return f"sqlite://{file}"


def review(ledger: str, *words: str) -> Result:
    command = ["review", "--ledger", ledger, "--no-live", *words]
    return CliRunner().invoke(main, command)


def document(ledger: str, *words: str) -> Any:  # noqa: ANN401 - any JSON value
    done = review(ledger, "--format", "json", *words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_review_covers_a_week_by_default(ledger: str) -> None:
    found = document(ledger)
    assert found["writes"] == {"now": 2, "before": 1}
    [repeated] = found["repeated"]
    assert (repeated["subject"], repeated["times"]) == ("Deployment shop/web", 2)
    assert document(ledger, "--since", "3h")["writes"] == {"now": 1, "before": 1}
    assert document(ledger, "--app", "other")["writes"] == {"now": 0, "before": 0}


def test_review_reports_what_was_not_inspected(ledger: str) -> None:
    done = review(ledger)
    assert "Live state was not inspected (--no-live)." in done.stdout
    assert "The history of findings is empty for both periods" in done.stdout


def test_recurring_findings_and_teams_are_read_from_the_history_of_the_service(ledger: str) -> None:
    with closing(open_history(ledger)) as history:
        term = history.lead("test", "one", NOW)
        for hours in (8, 6, 4):
            opened = (a_sighting(app="shop", team="storefront", namespace="shop"),)
            history.store(term, Changes(opened=opened), NOW - hours * HOUR)
            gone = tuple(history.open("test"))
            history.store(term, Changes(gone=gone), NOW - (hours - 1) * HOUR)
    found = document(ledger)
    assert found["episodes"] == {"now": 3, "before": 0}
    assert found["repeated"][0]["came_back"] == 3
    assert found["applications"][0]["team"] == "storefront"


def test_format_is_chosen_by_the_file_extension(ledger: str, tmp_path: Path) -> None:
    for name, start in (("r.md", "# Drift review"), ("r.html", "<!doctype"), ("r.txt", "Drift")):
        assert review(ledger, "-o", str(tmp_path / name)).exit_code == 0
        assert (tmp_path / name).read_text().startswith(start)


def test_period_in_the_future_is_a_usage_error(ledger: str) -> None:
    assert review(ledger, "--since", "2999-01-01").exit_code == 2


def test_live_folder_replaces_the_cluster(ledger: str, tmp_path: Path) -> None:
    live = tmp_path / "live"
    live.mkdir()
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 8}}
    web["metadata"] = {"name": "web", "namespace": "shop", "uid": wrote(0, "/spec").object_uid}
    (live / "web.json").write_text(json.dumps(web))
    command = ["review", "--ledger", ledger, "--live", str(live), "--format", "json"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["drift"]["fields"] == 1


def test_age_of_a_delegation_is_that_of_its_line_in_git(ledger: str, tmp_path: Path) -> None:
    live, policy = tmp_path / "live", tmp_path / "rules" / "policy.yaml"
    for folder in (live, policy.parent, tmp_path / "git"):
        folder.mkdir()
    policy.write_text(
        "apiVersion: glasswarden.io/v1\nkind: Policy\ncluster: test\n"
        "delegations:\n- name: scaler\n  fields: [/spec/replicas]\n  actors: [keda]\n"
    )
    git = ["git", "-C", str(policy.parent), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    date = {"GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z", "PATH": os.environ["PATH"]}
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Delegate replicas"]):
        subprocess.run([*git, *words], check=True, env=date | {"HOME": str(tmp_path)})
    where = ["--git", str(tmp_path / "git"), "--live", str(live), "--policy", str(policy)]
    done = CliRunner().invoke(main, ["review", "--ledger", ledger, *where, "--format", "json"])
    assert done.exit_code == 0, done.output
    [rule] = json.loads(done.stdout)["drift"]["ignores"]
    assert (rule["whose"], rule["since"]) == ("the policy", "2026-01-02T03:04:05Z")
