"""Kinds by the words that kubectl takes."""

import pytest

from glasswarden.cli.options import KindUnknown, kind_of


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("deploy", "Deployment"),
        ("deployment", "Deployment"),
        ("deployments", "Deployment"),
        ("deployments.apps", "Deployment"),
        ("deployment.v1.apps", "Deployment"),
        ("Deployment", "Deployment"),
        ("DEPLOY", "Deployment"),
        ("ingresses", "Ingress"),
        ("networkpolicies", "NetworkPolicy"),
        ("ks", "Kustomization"),
        ("gitrepositories", "GitRepository"),
        ("Certificate", "Certificate"),
    ],
)
def test_a_word_stands_for_a_kind(word: str, kind: str) -> None:
    assert kind_of(word) == kind


def test_a_word_that_could_be_anything_is_not_guessed_at() -> None:
    with pytest.raises(KindUnknown, match="as in a manifest"):
        kind_of("certificates")
