"""`break`, `extend` and `close` where a grant is not one's own; kubectl is a script."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from glasswarden.cli.main import main
from glasswarden.policy.breakglass import names
from tests.cli.test_breakglass_view import a_grant, a_namespace, an_object

LATER = datetime.now(UTC) + timedelta(hours=1)
ASKED = ("--ticket", "INC-43", "--reason", "still down, and I am on call now")
KUBECTL = """#!/bin/sh
here=$(dirname "$0")
case "$*" in
*auth\\ whoami*) echo '{"status": {"userInfo": {"username": "second"}}}' ;;
*Namespace*) cat "$here/namespace.json" ;;
*get*) cat "$here/web.json" ;;
*) echo "$*" >> "$here/done" ;;
esac
"""


class Desk:
    """A person called second, and their kubectl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "kubectl").write_text(KUBECTL)
        (folder / "kubectl").chmod(0o755)
        (folder / "done").touch()
        self.shows(an_object(), a_namespace())

    def shows(self, web: dict[str, object], namespace: dict[str, object]) -> None:
        (self.folder / "web.json").write_text(json.dumps(web))
        (self.folder / "namespace.json").write_text(json.dumps(namespace))

    def types(self, *words: str) -> Result:
        environment = {"KUBECTL": str(self.folder / "kubectl")}
        return CliRunner().invoke(main, [words[0], "deploy/web", *words[1:]], env=environment)

    @property
    def done(self) -> str:
        """What kubectl was asked to write."""
        return (self.folder / "done").read_text()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


OTHERS = {names.GRANT: a_grant(expires=LATER), names.REASON: "checkout is down"}


def test_break_reports_the_holder_of_an_open_grant(desk: Desk) -> None:
    desk.shows(an_object(**OTHERS), a_namespace())
    ended = desk.types("break", *ASKED)
    assert ended.exit_code == 1
    assert "it is open already, for responder; to have it in their place, add --take-over" in (
        ended.output
    )
    assert desk.done == ""


def test_break_takes_over_an_open_grant_with_a_new_reason(desk: Desk) -> None:
    desk.shows(an_object(**OTHERS), a_namespace())
    desk.types("break", *ASKED, "--take-over")
    assert "reason=still down, and I am on call now" in desk.done
    assert "grant-" not in desk.done


def test_extend_does_not_change_the_grant_of_another_person(desk: Desk) -> None:
    desk.shows(an_object(**OTHERS), a_namespace())
    ended = desk.types("extend", "--ttl", "1h")
    assert "it is responder's to extend" in ended.output
    assert desk.done == ""


@pytest.mark.parametrize(
    ("words", "act"), [(("extend", "--ttl", "1h"), "extend"), (("close",), "close")]
)
def test_grant_on_the_namespace_is_not_changed_through_its_objects(
    desk: Desk, words: tuple[str, ...], act: str
) -> None:
    desk.shows(an_object(), a_namespace(**OTHERS))
    ended = desk.types(*words)
    assert f"the grant is on Namespace shop: {act} that" in ended.output
    assert desk.done == ""


def test_break_requests_a_grant_despite_a_stamp_of_a_namespace_grant(desk: Desk) -> None:
    desk.shows(an_object(**{names.GRANT: a_grant(expires=LATER, namespace="n")}), a_namespace())
    desk.types("break", *ASKED)
    assert "reason=still down, and I am on call now" in desk.done
    assert f"{names.GRANT}-" in desk.done


def test_close_settles_an_expired_grant_with_an_outcome(desk: Desk) -> None:
    over = {names.GRANT: a_grant(), names.REASON: "checkout was down"}
    desk.shows(an_object(**over), a_namespace())
    desk.types("close", "--outcome", "delegated")
    assert f"{names.REASON}-" in desk.done
    assert f"{names.OUTCOME}=delegated" in desk.done


def test_close_settles_a_grant_by_its_id_without_a_stamp(desk: Desk) -> None:
    assert "no grant is in force" in desk.types("close", "--outcome", "delegated").output
    desk.types("close", "--outcome", "delegated", "--grant", "g7")
    assert f"{names.OUTCOME}=delegated:g7" in desk.done
    assert names.REASON not in desk.done
    assert desk.types("close", "--grant", "g7").exit_code == 2
