"""What a person reads when they are refused."""

import pytest

from glasswarden.kube.objects import Ref
from glasswarden.kube.owners import Owner
from glasswarden.policy.denial import denial
from glasswarden.policy.write import Operation
from tests.policy.builders import ARGOCD, FLUX, a_change, a_write


def test_it_names_the_owner_the_fields_and_the_way() -> None:
    assert denial(a_write(), FLUX) == (
        "Deployment shop/web is managed by Flux Kustomization flux-system/shop; "
        "direct writes are refused.\n"
        "Refused:\n"
        "  /spec/replicas: 3 → 5\n"
        "Change it in the Git repository of that application instead."
    )


def test_a_delete_has_no_fields_to_show() -> None:
    assert denial(a_write(operation=Operation.DELETE), ARGOCD).startswith(
        "Deployment shop/web is managed by Argo CD Application argocd/shop; "
        "direct writes are refused.\n"
        "Refused: delete\n"
    )


def test_a_cluster_scoped_object_is_named_without_namespace() -> None:
    role = Ref("rbac.authorization.k8s.io", "v1", "ClusterRole", "", "reader")
    assert denial(a_write(object=role), FLUX).startswith("ClusterRole reader is managed")


def test_many_fields_are_counted_not_listed() -> None:
    changes = tuple(a_change(f"/spec/f{index}", index, index + 1) for index in range(60))
    lines = denial(a_write(changes=changes), FLUX).splitlines()
    assert len(lines) <= 12
    assert lines[-2] == "  … and 54 more"


def test_a_long_value_is_cut() -> None:
    text = denial(a_write(changes=(a_change("/data/x", "a" * 5000, "b" * 5000),)), FLUX)
    assert max(map(len, text.splitlines())) < 120


@pytest.mark.parametrize("path", ["/data/password", "/stringData/password"])
def test_a_secrets_values_are_hidden(path: str) -> None:
    secret = Ref("", "v1", "Secret", "shop", "db")
    text = denial(a_write(object=secret, changes=(a_change(path, "old-pw", "new-pw"),)), FLUX)
    assert f"  {path}: (hidden)" in text
    assert "old-pw" not in text
    assert "new-pw" not in text


def test_a_secrets_labels_are_not() -> None:
    secret = Ref("", "v1", "Secret", "shop", "db")
    change = a_change("/metadata/labels/team", "a", "b")
    assert '/metadata/labels/team: "a" → "b"' in denial(
        a_write(object=secret, changes=(change,)), FLUX
    )


def test_a_terminal_obeys_nothing_in_it() -> None:
    owner = Owner("argocd", "shop\x1b[2J\r\nfake line", None, "Application")
    text = denial(a_write(changes=(a_change("/spec/a", "\x1b]0;x\x07", "b"),)), owner)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\nfake line" not in text
