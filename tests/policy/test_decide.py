"""The verdict, clause by clause."""

import pytest

from glasswarden.kube.owners import Owner
from glasswarden.policy.decide import decide
from glasswarden.policy.decision import Clause, Verdict
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Actor, Operation
from tests.policy.builders import ARGOCD, FLUX, a_write

FLUX_CONTROLLER = Actor("system:serviceaccount:flux-system:kustomize-controller")
ARGOCD_CONTROLLER = Actor("system:serviceaccount:argocd:argocd-application-controller")


def test_nobody_is_asked_about_an_unmanaged_object() -> None:
    decision = decide(a_write(owner=None), Policy())
    assert (decision.verdict, decision.clause) == (Verdict.ALLOW, Clause.UNMANAGED)


def test_an_update_that_changes_nothing_is_allowed() -> None:
    decision = decide(a_write(changes=()), Policy())
    assert (decision.verdict, decision.clause) == (Verdict.ALLOW, Clause.NOISE)


@pytest.mark.parametrize(
    ("actor", "owner", "verdict"),
    [
        pytest.param(FLUX_CONTROLLER, FLUX, Verdict.ALLOW, id="Flux on its own"),
        pytest.param(ARGOCD_CONTROLLER, ARGOCD, Verdict.ALLOW, id="Argo CD on its own"),
        pytest.param(ARGOCD_CONTROLLER, FLUX, Verdict.DENY, id="Argo CD on Flux's"),
        pytest.param(Actor("kustomize-controller"), FLUX, Verdict.DENY, id="a user of that name"),
    ],
)
def test_a_controller_is_trusted_with_what_its_engine_owns(
    actor: Actor, owner: Owner, verdict: Verdict
) -> None:
    assert decide(a_write(actor=actor, owner=owner), Policy()).verdict is verdict


def test_a_field_manager_gives_no_rights() -> None:
    decision = decide(a_write(manager="kustomize-controller"), Policy())
    assert decision.verdict is Verdict.DENY


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.UPDATE, Operation.DELETE])
def test_a_person_is_denied(operation: Operation) -> None:
    decision = decide(a_write(operation=operation), Policy())
    assert (decision.verdict, decision.clause) == (Verdict.DENY, Clause.GUARD)
    assert decision.message


def test_a_dry_run_is_told_and_not_refused() -> None:
    decision = decide(a_write(dry_run=True), Policy())
    assert (decision.verdict, decision.clause) == (Verdict.ALLOW, Clause.GUARD)
    assert decision.warnings[0].endswith("this write would be refused.")


def test_a_warning_holds_no_line_break() -> None:
    """The API server drops a warning with a control character in it."""
    assert all("\n" not in line for line in decide(a_write(dry_run=True), Policy()).warnings)
