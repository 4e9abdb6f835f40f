"""`glasswarden history`, as its user types it; kubectl is a script that knows one Deployment."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from glasswarden.cli.main import main
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.correlator.attribution.builders import wrote
from tests.correlator.test_field_history import DENIED, REPLICAS, RESPONDER, a_live
from tests.ledger.builders import an_opening, records_of

KUBECTL = """#!/bin/sh
case "$*" in
*get\\ deploy/web*) cat "$(dirname "$0")/web.json" ;;
*) echo 'Error from server (NotFound): deployments.apps "gone" not found' >&2; exit 1 ;;
esac
"""
EVIL = "\x1b[2Jme"


class Desk:
    """A ledger, and a cluster that kubectl knows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubectl = folder / "kubectl"
        self.kubectl.write_text(KUBECTL)
        self.kubectl.chmod(0o755)
        (folder / "web.json").write_text(json.dumps(a_live(5)))

    def recorded(self, *attempts: Attempt) -> None:
        with closing(open_sqlite(self.folder / "ledger.db")) as ledger:
            ledger.append(records_of(an_opening(), *attempts))

    def typed(self, *words: str) -> Result:
        command = ["history", *words, "--ledger", f"sqlite://{self.folder}/ledger.db"]
        return CliRunner().invoke(main, command, env={"KUBECTL": str(self.kubectl)})

    def steps(self, *words: str) -> list[dict[str, Any]]:
        result = self.typed(*words, "--format", "json")
        assert result.exit_code == 0, result.stderr
        found: list[dict[str, Any]] = json.loads(result.stdout)
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_table_lists_recorded_and_unrecorded_steps(desk: Desk) -> None:
    desk.recorded(RESPONDER, DENIED)
    assert desk.typed("deploy/web", "-n", "shop").stdout.splitlines() == [
        "TIME (UTC)           STATE       WHO        FIELD           CHANGE  TICKET",
        "2026-03-01 12:01:00  attempted   responder  /spec/replicas  5 → 8   INC-42",
        "-                    unrecorded  -          /spec/replicas  8 → 5   -",
        "    the next record found the value from before: put back, or never changed",
        "2026-03-01 12:03:00  denied      developer  /spec/replicas  5 → 7   -",
    ]


def test_json_lists_recorded_and_unrecorded_steps(desk: Desk) -> None:
    desk.recorded(RESPONDER)
    first, second = desk.steps("deploy/web", "-n", "shop")
    assert (first["before"], first["after"], first["records"]) == (5, 8, [RESPONDER.id])
    assert (second["state"], second["manager"]) == ("unrecorded", "kustomize-controller")


@pytest.mark.parametrize(("field", "count"), [(REPLICAS, 2), ("/spec", 3), ("/metadata", 0)])
def test_field_option_filters_the_steps(desk: Desk, field: str, count: int) -> None:
    desk.recorded(RESPONDER, wrote(9, "/spec/template/spec/hostNetwork", old=False))
    assert len(desk.steps("deploy/web", "-n", "shop", "--field", field)) == count


def test_deleted_object_still_has_a_history(desk: Desk) -> None:
    desk.recorded(wrote(1, REPLICAS, operation="DELETE", changes=(), name="gone"))
    [step] = desk.steps("deploy/gone", "-n", "shop")
    assert (step["operation"], step["actor"]) == ("DELETE", "responder")


def test_live_folder_replaces_the_cluster(desk: Desk) -> None:
    desk.recorded(RESPONDER, wrote(2, REPLICAS, operation="DELETE", changes=(), name="gone"))
    live = desk.folder / "live"
    live.mkdir()
    (live / "web.json").write_text(json.dumps(a_live(8)))
    desk.kubectl.unlink()
    [step] = desk.steps("deploy/web", "-n", "shop", "--live", str(live))
    assert (step["state"], step["evidence"]) == ("stored", "the live object has its value")
    [step] = desk.steps("deploy/gone", "-n", "shop", "--live", str(live))
    assert step["operation"] == "DELETE"


def test_empty_history_is_reported(desk: Desk) -> None:
    desk.recorded()
    result = desk.typed("deploy/web", "-n", "shop")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "Nothing was recorded" in result.stderr


def test_invalid_field_is_a_usage_error(desk: Desk) -> None:
    desk.recorded()
    result = desk.typed("deploy/web", "--field", "spec[")
    assert result.exit_code == 2
    assert "--field" in result.stderr


def test_control_characters_in_records_are_escaped(desk: Desk) -> None:
    desk.recorded(wrote(1, REPLICAS, new=EVIL, actor=EVIL, ticket=EVIL, reason=EVIL))
    text = desk.typed("deploy/web", "-n", "shop").stdout
    assert all(char.isprintable() or char == "\n" for char in text)
