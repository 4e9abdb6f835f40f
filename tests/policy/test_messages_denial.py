"""What a person reads when their write is denied."""

import pytest

from glasswarden.kube.engines.engine import GitLocation, Owner
from glasswarden.kube.objects import Ref
from glasswarden.policy.types import Actor, Operation
from glasswarden.policy.write import Write
from tests.policy.builders import ARGOCD, a_change, a_policy, a_write, decided

SECRET = Ref("", "v1", "Secret", "shop", "db")


def message(write: Write) -> str:
    return decided(write).message


def test_denial_names_owner_fields_and_remedy() -> None:
    assert message(a_write()) == (
        "Deployment shop/web is managed by Flux Kustomization flux-system/shop; "
        "this direct write is refused.\n"
        "  /spec/replicas: 3 → 5\n"
        "Change it in the Git repository of that application instead.\n"
        "Nobody may break the glass here: the policy has no rule for it."
    )


def test_denial_names_the_repository_where_known() -> None:
    source = GitLocation("https://git.example/shop.git", "deploy/prod", "main")
    assert (
        "\nChange it in https://git.example/shop.git at main, path deploy/prod instead.\n"
    ) in decided(a_write(), source=source).message


def test_denial_of_a_deletion_lists_no_fields() -> None:
    assert message(a_write(operation=Operation.DELETE, owner=ARGOCD, changes=())).startswith(
        "Deployment shop/web is managed by Argo CD Application argocd/shop; "
        "this deletion is refused.\nChange it in"
    )


def test_denial_names_a_cluster_scoped_object_without_namespace() -> None:
    role = Ref("rbac.authorization.k8s.io", "v1", "ClusterRole", "", "reader")
    assert message(a_write(target=role)).startswith("ClusterRole reader is managed")


def test_denial_counts_fields_beyond_the_first_ones() -> None:
    changes = tuple(a_change(f"/spec/f{index}", index, index + 1) for index in range(60))
    lines = message(a_write(changes=changes)).splitlines()
    assert len(lines) <= 12
    assert lines[-3] == "  … and 54 more"


def test_command_in_a_denial_is_never_cut() -> None:
    """It is meant to be copied; only a warning has a maximum length."""
    policy = a_policy("breakGlass: {rules: [{name: a, users: [developer]}]}")
    long = Ref("apps", "v1", "Deployment", "n" * 63, "x" * 253)
    told = decided(a_write(target=long), policy).message
    [command] = [line for line in told.splitlines() if "kubectl glasswarden break" in line]
    assert command.endswith("--ttl 1h")
    for line in decided(a_write(target=long, dry_run=True), policy).warnings:
        assert len(line) <= 256


def test_lines_fit_into_a_warning_of_the_api_server() -> None:
    long = "/spec/" + "x" * 3000
    change = a_change(long, "a" * 5000, "b" * 5000)
    for line in message(a_write(changes=(change,))).splitlines():
        assert len(line) <= 256
    for line in decided(a_write(changes=(change,), dry_run=True)).warnings:
        assert len(line) <= 256


@pytest.mark.parametrize("path", ["/data/password", "/stringData/password", "/data", "/stringData"])
def test_values_of_a_secret_are_hidden(path: str) -> None:
    change = a_change(path, "old-pw", {"password": "new-pw"})
    text = message(a_write(target=SECRET, changes=(change,)))
    assert f"  {path}: (hidden)" in text
    assert "old-pw" not in text
    assert "new-pw" not in text


def test_labels_of_a_secret_are_shown() -> None:
    change = a_change("/metadata/labels/team", "a", "b")
    text = message(a_write(target=SECRET, changes=(change,)))
    assert '/metadata/labels/team: "a" → "b"' in text


def test_sensitive_fields_of_the_policy_are_hidden() -> None:
    policy = a_policy(
        "sensitive: [{kinds: [Deployment], fields: ['/spec/**/env[name=TOKEN]/value']}]"
    )
    path = "/spec/template/spec/containers[name=app]/env[name={}]/value"
    token, other = (a_change(path.format(name), "x", "y") for name in ("TOKEN", "LEVEL"))
    entries = [{"name": "TOKEN", "value": "x"}]
    whole = a_change("/spec/template/spec/containers[name=app]/env", new=entries)
    text = decided(a_write(changes=(token, other, whole)), policy).message
    assert text.count("(hidden)") == 2
    assert '[name=LEVEL]/value: "x" → "y"' in text


def test_control_characters_are_escaped() -> None:
    owner = Owner("argocd", "shop\x1b[2J\r\nfake line", None, "Application")
    change = a_change("/spec/a", "\x1b]0;x\x07", "b")
    text = message(a_write(changes=(change,), owner=owner))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\nfake line" not in text


RULES = """
breakGlass:
  rules:
    - {name: platform, users: [root], kinds: [Secret]}
    - {name: oncall, groups: [oncall], ttl: {longest: 4h}}
    - {name: devs, groups: [developers], applications: [other], approval: {groups: [leads]}}
"""
ONCALL = Actor("responder", groups=("oncall",))


class TestBreakGlassLines:
    """The last lines: how this person can use break-glass, or who could."""

    def test_break_command_is_shown_to_copy(self) -> None:
        assert decided(a_write(actor=ONCALL), a_policy(RULES)).message == (
            "Deployment shop/web is managed by Flux Kustomization flux-system/shop; "
            "this direct write is refused.\n"
            "  /spec/replicas: 3 → 5\n"
            "Change it in the Git repository of that application instead.\n"
            "To break the glass:\n"
            "  kubectl glasswarden break deployment/web -n shop "
            '--ticket TICKET --reason "REASON" --ttl 1h'
        )

    def test_break_command_names_a_custom_kind_with_its_group(self) -> None:
        target = Ref("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "flux-system", "shop")
        message = decided(a_write(actor=ONCALL, target=target), a_policy(RULES)).message
        assert "break kustomization.kustomize.toolkit.fluxcd.io/shop -n flux-system" in message

    def test_break_command_for_a_cluster_scoped_object_has_no_namespace(self) -> None:
        target = Ref("", "v1", "PersistentVolume", "", "disk")
        message = decided(a_write(actor=ONCALL, target=target), a_policy(RULES)).message
        assert "break persistentvolume/disk --ticket" in message

    def test_required_approval_is_named(self) -> None:
        policy = a_policy(RULES.replace("applications: [other], ", ""))
        lines = decided(a_write(), policy).message.splitlines()
        assert lines[-2] == "To break the glass (group leads must approve):"

    def test_permitted_groups_are_named_to_others(self) -> None:
        message = decided(a_write(), a_policy(RULES)).message
        assert message.endswith("\nWho may break the glass here: group oncall.")

    def test_missing_rule_is_reported(self) -> None:
        policy = a_policy("breakGlass: {rules: [{name: a, users: [x], namespaces: [pay]}]}")
        message = decided(a_write(), policy).message
        assert message.endswith("\nNobody may break the glass here: the policy has no rule for it.")

    def test_denial_stays_within_twelve_lines(self) -> None:
        changes = tuple(a_change(f"/spec/f{index}", index, index + 1) for index in range(60))
        write = a_write(actor=ONCALL, changes=changes)
        assert len(decided(write, a_policy(RULES)).message.splitlines()) <= 12

    def test_change_of_marks_has_no_break_command(self) -> None:
        mark = a_change("/metadata/labels/kustomize.toolkit.fluxcd.io~1name", "shop")
        message = decided(a_write(actor=ONCALL, changes=(mark,)), a_policy(RULES)).message
        assert "break the glass" not in message
