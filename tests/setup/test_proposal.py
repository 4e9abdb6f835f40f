"""A proposal is a valid policy, whatever was found, and says why each line is there."""

import pytest

from glasswarden.kube.engines import argocd, flux
from glasswarden.kube.engines.argocd import Installation
from glasswarden.policy.load import parse_document
from glasswarden.policy.policy import Policy, policy_of
from glasswarden.policy.types import Mode
from glasswarden.setup.proposal import propose
from glasswarden.setup.survey import Survey, UnknownManager, user_of

USUAL = user_of("argocd", "argocd-application-controller")
TENANT = user_of("shop", "deployer")


def by_argocd(*installations: Installation) -> Survey:
    detected = argocd.detect_settings(installations)
    assert detected is not None
    return Survey(detected={"argocd": detected}, engines=("argocd",))


def by_flux(users: tuple[str, ...], tenants: tuple[str, ...] = ()) -> Survey:
    return Survey(detected={"flux": flux.detect_settings(users, tenants)}, engines=("flux",))


def proposed(survey: Survey) -> Policy:
    return policy_of(parse_document(propose(survey)))


@pytest.mark.parametrize(
    "survey",
    [
        pytest.param(Survey(), id="nothing"),
        pytest.param(by_argocd(Installation("argocd", controllers=(USUAL,))), id="usual"),
        pytest.param(by_flux((user_of("flux-system", "helm-controller"),)), id="usual Flux"),
        pytest.param(Survey(engines=("fleet", "kapp"), autoscalers=3, by_people=2), id="others"),
        pytest.param(by_argocd(Installation("a", "some: [thing", "x: y#")), id="odd text"),
        pytest.param(by_argocd(Installation("a", "label", "Yes", "123")), id="text like a number"),
        pytest.param(by_argocd(Installation("a", "label", "x", "eu:")), id="text like a key"),
        pytest.param(Survey(unread=("GET /x: forbidden",)), id="unread"),
    ],
)
def test_proposal_is_always_a_policy_in_audit_mode(survey: Survey) -> None:
    document = proposed(survey).document
    assert (document.mode, document.reconcilers) == (Mode.AUDIT, Mode.AUDIT)


def test_argocd_settings_are_copied_into_the_proposal() -> None:
    found = Installation("argo", "label", "example.com/app", "eu-1")
    settings = proposed(by_argocd(found)).document.engines.argocd
    assert settings.tracking == "label"
    assert settings.instance_label_key == "example.com/app"
    assert settings.installation_id == "eu-1"


def test_a_controller_in_another_namespace_is_trusted_beside_the_usual_ones() -> None:
    other = user_of("gitops", "argocd-application-controller")
    policy = proposed(by_argocd(Installation("gitops", controllers=(other,))))
    assert other in policy.controllers["argocd"]
    assert USUAL in policy.controllers["argocd"]


def test_flux_tenants_are_trusted_with_the_reason_as_a_comment() -> None:
    survey = by_flux((), (TENANT,))
    assert TENANT in proposed(survey).controllers["flux"]
    assert f"- {TENANT}  # spec.serviceAccountName" in propose(survey)


def test_cainjector_in_another_namespace_gets_a_delegation() -> None:
    survey = Survey(cert_managers=(user_of("security", "cainjector"),))
    [delegation] = proposed(survey).document.delegations
    assert delegation.actors == (user_of("security", "cainjector"),)
    assert "/webhooks[*]/clientConfig/caBundle" in delegation.fields


def test_unknown_field_manager_is_a_comment_and_no_delegation() -> None:
    """A field manager is a name that anybody can choose."""
    survey = Survey(unknown_managers=(UnknownManager("image-updater", 4, ("/spec/a",)),))
    assert proposed(survey).document.delegations == ()
    assert "image-updater owns fields of 4 objects" in propose(survey)
