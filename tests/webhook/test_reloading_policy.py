"""A changed policy file is reloaded; a broken one changes nothing."""

from pathlib import Path

import pytest

from glasswarden.policy.policy import DEFAULT, Policy
from glasswarden.policy.types import Mode
from glasswarden.policy_file import PolicyUnreadable
from webhook.reloading import Rules

HEAD = "apiVersion: glasswarden.io/v1\nkind: Policy\n"


def mode_of(rules: Rules) -> Mode:
    return rules.policy.document.mode


def test_built_in_policy_applies_without_a_file() -> None:
    rules = Rules(None)
    rules.refresh()
    assert rules.policy is DEFAULT


def test_changed_file_is_reloaded(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"{HEAD}mode: warn")
    rules = Rules(path)
    path.write_text(f"{HEAD}mode: audit")
    rules.refresh()
    assert rules.policy.document.mode is Mode.AUDIT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mode: [",
        f"{HEAD}mode: wran",
        f"{HEAD}? [a]\n: b",
        f"{HEAD}cluster: {'[' * 5000}",
        f"{HEAD}breakGlass: {{rules: [{{name: a, users: [b], ticket: '{'(' * 5000}'}}]}}",
    ],
    ids=["empty", "torn", "wrong", "a list for a key", "an abyss", "an abyss of an expression"],
)
def test_broken_file_keeps_the_previous_policy_until_it_is_fixed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"{HEAD}mode: warn")
    rules = Rules(path)
    path.write_text(text)
    rules.refresh()
    assert mode_of(rules) is Mode.WARN
    path.write_text(f"{HEAD}mode: audit")
    rules.refresh()
    assert mode_of(rules) is Mode.AUDIT


def test_deleted_file_keeps_the_previous_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"{HEAD}mode: warn")
    rules = Rules(path)
    path.unlink()
    rules.refresh()
    assert rules.policy.document.mode is Mode.WARN


def test_broken_file_prevents_the_start(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"{HEAD}mode: wran")
    with pytest.raises(PolicyUnreadable) as caught:
        Rules(path)
    assert f"{path}:3:7: mode: invalid value 'wran'" in str(caught.value)


def test_file_is_read_again_after_an_unforeseen_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that follows the file would end with the first error that it does not know."""
    path = tmp_path / "policy.yaml"
    path.write_text(f"{HEAD}mode: warn")
    rules = Rules(path)
    path.write_text(f"{HEAD}mode: enforce")
    with monkeypatch.context() as broken:
        broken.setattr("webhook.reloading.parse_policy", unheard_of)
        rules.refresh()
    assert mode_of(rules) is Mode.WARN
    rules.refresh()
    assert mode_of(rules) is Mode.ENFORCE


def unheard_of(_path: Path, _text: str) -> Policy:
    raise ZeroDivisionError
