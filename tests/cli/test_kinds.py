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
def test_kind_is_found_by_plural_singular_and_short_name(word: str, kind: str) -> None:
    assert kind_of(word) == kind


def test_unknown_resource_name_is_rejected() -> None:
    with pytest.raises(KindUnknown, match="as in a manifest"):
        kind_of("certificates")
