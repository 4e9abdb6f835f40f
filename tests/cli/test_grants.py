"""`glasswarden grants`, as its user types it; the API server serves one Deployment."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from glasswarden.cli.main import main
from glasswarden.ledger.keys import make_mask, open_masks
from glasswarden.ledger.record import Attempt, ChangedField
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.cli.api_server import serving
from tests.ledger.builders import an_attempt, records_of

NOW = datetime.now(UTC)
MINUTE = timedelta(minutes=1)
REPLICAS = ChangedField(path="/spec/replicas", old=3, new=8)
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
OBJECTS = {
    f"{DEPLOYMENTS}/web": "web.json",
    f"{DEPLOYMENTS}/gone": "",
    "/api/v1/namespaces/shop/secrets/db": "secret.json",
}


def act(minutes_ago: float, act: str, *changes: ChangedField, **differing: Any) -> Attempt:  # noqa: ANN401
    fields: dict[str, Any] = {
        "time": NOW - minutes_ago * MINUTE,
        "verdict": "allow",
        "grant": "g1",
        "grant_act": act,
        "grantee": "responder",
        "grant_expires": NOW - MINUTE,
        "ticket": "INC-42",
        "reason": "checkout is down",
        "changes": changes,
    }
    return an_attempt(**fields | differing)


class Desk:
    """A ledger, and a cluster that a kubeconfig names."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self.folder = folder
        self.kubeconfig = kubeconfig
        self.live(replicas=8)

    def live(self, uid: str = "0b6f9e0c", **spec: object) -> None:
        metadata = {"name": "web", "namespace": "shop", "uid": uid}
        web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        (self.folder / "web.json").write_text(json.dumps(web))

    def declared(self, **spec: object) -> None:
        """Let Git declare the Deployment, which leaves its namespace to whoever applies it."""
        web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
        (self.folder / "git").mkdir(exist_ok=True)
        (self.folder / "git" / "web.json").write_text(json.dumps(web | {"spec": spec}))

    def recorded(self, *acts: Attempt) -> None:
        with closing(open_sqlite(self.folder / "ledger.db")) as ledger:
            ledger.append(records_of(*acts))

    def typed(self, *words: str) -> Result:
        address = f"sqlite://{self.folder}/ledger.db"
        given = {"KUBECONFIG": str(self.kubeconfig)}
        return CliRunner().invoke(main, ["grants", "--ledger", address, *words], env=given)

    def shown(self, *words: str) -> list[dict[str, Any]]:
        result = self.typed("--format", "json", *words)
        assert result.exit_code == 0, result.output
        found: list[dict[str, Any]] = json.loads(result.stdout)
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with serving(tmp_path, OBJECTS) as kubeconfig:
        yield Desk(tmp_path, kubeconfig)


ENDED = (act(30, "issued"), act(29, "used", REPLICAS))


@pytest.mark.parametrize(
    ("live", "state"),
    [
        pytest.param({"replicas": 8}, "overdue", id="still live"),
        pytest.param({"replicas": 3}, "settled", id="undone"),
        pytest.param({"replicas": 8, "uid": "another"}, "settled", id="made anew"),
    ],
)
def test_ended_grant_is_overdue_while_its_change_is_live(
    desk: Desk, live: dict[str, Any], state: str
) -> None:
    desk.recorded(*ENDED)
    desk.live(**live)
    [grant] = desk.shown("--all")
    assert grant["state"] == state
    assert (grant["grantee"], grant["ticket"], grant["object"]) == (
        "responder", "INC-42", "Deployment shop/web",
    )  # fmt: skip


def test_open_grant_is_shown_with_the_time_left(desk: Desk) -> None:
    desk.recorded(act(5, "issued", REPLICAS, grant_expires=NOW + 90 * MINUTE))
    result = desk.typed()
    assert re.search(r"^1 h \d+ min +open ", result.stdout, re.MULTILINE)
    assert "/spec/replicas  3 → 8  [still live]" in result.stdout
    assert "1 grant: 1 open." in result.stderr


@pytest.mark.parametrize(
    ("declares", "state", "git"),
    [
        pytest.param({"replicas": 8}, "settled", "yes", id="backported"),
        pytest.param({"replicas": 3}, "overdue", "no", id="as it was"),
        pytest.param({}, "overdue", "no", id="left open in Git"),
    ],
)
def test_grant_is_settled_once_git_declares_its_change(
    desk: Desk, declares: dict[str, Any], state: str, git: str
) -> None:
    desk.recorded(*ENDED)
    desk.declared(**declares)
    [grant] = desk.shown("--all", "--git", str(desk.folder), "--path", "git")
    assert (grant["state"], grant["fields"][0]["git"]) == (state, git)


def test_grant_is_settled_by_git_without_a_cluster(desk: Desk) -> None:
    desk.recorded(*ENDED)
    desk.kubeconfig.unlink()
    words = ("--all", "--no-live", "--git", str(desk.folder / "git"))
    for replicas, state in ((8, "settled"), (3, "unchecked")):
        desk.declared(replicas=replicas)
        assert [grant["state"] for grant in desk.shown(*words)] == [state]


def test_backported_field_is_shown_as_in_git(desk: Desk) -> None:
    desk.recorded(*ENDED)
    desk.declared(replicas=8)
    result = desk.typed("--all", "--git", str(desk.folder / "git"))
    assert "/spec/replicas  3 → 8  [in Git]" in result.stdout


def test_unreadable_git_is_an_error(desk: Desk) -> None:
    desk.recorded(*ENDED)
    result = desk.typed("--git", str(desk.folder / "nowhere"))
    assert result.exit_code == 1
    assert "nowhere" in result.stderr


def test_settled_grants_are_shown_only_with_all(desk: Desk) -> None:
    desk.recorded(*ENDED)
    desk.live(replicas=3)
    told = desk.typed().stderr
    assert "No grant answers this.\n1 other grant not shown; --all shows all." in told
    assert "settled" in desk.typed("--all").stdout


def test_grant_on_a_deleted_object_has_no_open_follow_up(desk: Desk) -> None:
    desk.recorded(act(9, "issued", REPLICAS, name="gone"))
    assert desk.shown() == []


def test_grant_on_an_unreadable_object_is_reported_as_unchecked(desk: Desk) -> None:
    desk.recorded(act(9, "issued", REPLICAS, name="api"))
    result = desk.typed("--exit-code")
    assert "unchecked" in result.stdout
    assert (
        "1 object could not be read:\n  Deployment shop/api: no right to read it" in result.stderr
    )
    assert result.exit_code == 3


def test_ended_grant_is_unchecked_with_no_live(desk: Desk) -> None:
    desk.recorded(*ENDED)
    desk.kubeconfig.unlink()
    assert [grant["state"] for grant in desk.shown("--no-live")] == ["unchecked"]


def test_grants_of_several_clusters_are_unchecked_without_the_cluster_option(desk: Desk) -> None:
    desk.recorded(*ENDED, act(9, "issued", REPLICAS, cluster="another"))
    result = desk.typed()
    assert result.stdout.count("unchecked") == 2
    assert "choose one of another, test with --cluster" in result.stderr
    assert [grant["state"] for grant in desk.shown("--cluster", "test")] == ["overdue"]


def test_options_filter_the_grants(desk: Desk) -> None:
    other = act(9, "issued", name="db", grant="g2", grantee="lead", ticket="INC-7")
    desk.recorded(*ENDED, other)
    for words in (["--ticket", "INC-7"], ["--actor", "lead"], ["--since", "25m"]):
        assert [each["id"] for each in desk.shown("--all", *words)] == ["g2"]
    assert [each["id"] for each in desk.shown("--overdue")] == ["g1"]


@pytest.mark.parametrize(("replicas", "code"), [(8, 1), (3, 0)], ids=["overdue", "settled"])
def test_exit_code_option_fails_with_overdue_grants(desk: Desk, replicas: int, code: int) -> None:
    desk.recorded(*ENDED)
    desk.live(replicas=replicas)
    assert desk.typed("--exit-code").exit_code == code


def test_value_of_a_secret_is_compared_and_never_shown(desk: Desk) -> None:
    keys = desk.folder / "ledger.db.keys"
    keys.mkdir()
    make_mask(keys, NOW - 60 * MINUTE)
    masked = open_masks(keys).mask("/data/password", "aHVudGVyMg==", NOW)
    change = ChangedField(path="/data/password", new_masked=masked)
    where = {"group": "", "kind": "Secret", "name": "db", "object_uid": "u1"}
    desk.recorded(act(9, "issued", change, **where))
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db", "namespace": "shop", "uid": "u1"},
        "data": {"password": "aHVudGVyMg=="},
    }
    (desk.folder / "secret.json").write_text(json.dumps(secret))
    result = desk.typed()
    assert "overdue" in result.stdout
    assert "/data/password  (none) → (hidden)  [still live]" in result.stdout
    assert "aHVudGVyMg" not in desk.typed("--format", "json").output + result.output


def test_control_characters_are_escaped(desk: Desk) -> None:
    desk.recorded(act(9, "issued", REPLICAS, reason="\x1b[2Jgone", ticket="\u202eCNI"))
    shown = desk.typed().stdout
    assert "\x1b" not in shown
    assert r"\x1b[2Jgone" in shown
    assert r"\u202eCNI" in shown


def test_ledger_option_is_required() -> None:
    result = CliRunner().invoke(main, ["grants"])
    assert result.exit_code == 2
    assert "Missing option '--ledger'" in result.stderr
