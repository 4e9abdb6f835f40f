"""`classify`: what the ledger says about a difference counts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from correlator.attribution.link import Link, State
from correlator.classify.advice import revert_command
from correlator.classify.rule import Scene
from correlator.finding import UNKNOWN, Cause, Class, Finding, Response
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import ROOT
from glasswarden.policy.policy import DEFAULT
from tests.correlator.classify.test_rules import (
    ARGOCD,
    FLUX,
    HOUR,
    NOW,
    RESTART,
    SIDECAR,
    WEB,
    a_finding,
    judged,
)


def told(finding: Finding | None = None, **link: str) -> Finding:
    """Return a finding of the ledger, with what it is linked to."""
    cause = Link(State.EXPLAINED, actor="responder", **link)  # type: ignore[arg-type]
    return replace(finding or a_finding(), source="ledger", link=cause)


RECORDED = [
    pytest.param(told(), Response.AUTO_HEAL, id="an image"),
    pytest.param(told(a_finding("/spec/replicas", 3, 5)), Response.ALERT, id="capacity"),
    pytest.param(told(a_finding(age=timedelta(days=30))), Response.ALERT, id="a month ago"),
    pytest.param(told(a_finding(live=ABSENT, by="")), Response.AUTO_HEAL, id="removed"),
    pytest.param(
        told(a_finding(SIDECAR, ABSENT, {"name": "proxy"}, by="")),
        Response.AUTO_HEAL,
        id="a container whose holder was wiped",
    ),
    pytest.param(told(grant="g1", ticket="INC-42"), Response.ALERT, id="a grant that is over"),
]


@pytest.mark.parametrize(("finding", "response"), RECORDED)
def test_recorded_direct_write_is_classified_as_a_persons(
    finding: Finding, response: Response
) -> None:
    verdict = judged(finding)
    assert (verdict.kind, verdict.cause) == (Class.DESIRED_CONFIGURATION, Cause.PERSON)
    assert verdict.response == response


@pytest.mark.parametrize("source", ["ledger", "git"])
def test_change_under_an_open_grant_is_to_be_backported(source: str) -> None:
    scene = Scene(DEFAULT, NOW, open_grants={"g1": NOW + HOUR})
    verdict = judged(replace(told(grant="g1", ticket="INC-42"), source=source), scene)
    assert verdict.response == Response.BACKPORT
    assert "open until 2026-03-01T13:00:00Z" in verdict.reason
    assert verdict.suggestion.startswith("glasswarden backport --ticket INC-42 --repo DIR\nkubectl")


def test_recorded_restart_is_ignored() -> None:
    restarted = told(a_finding(RESTART, ABSENT, "2026-03-01T12:00:00Z"))
    assert judged(restarted).response == Response.IGNORE


def test_object_created_by_hand_is_an_orphan_to_escalate() -> None:
    made = Finding(WEB, ROOT, ABSENT, {"metadata": {}}, NOW, "ledger", owner=FLUX)
    verdict = judged(made)
    assert (verdict.kind, verdict.cause) == (Class.ORPHAN, Cause.PERSON)
    assert verdict.response == Response.ESCALATE


def test_deleted_object_with_unknown_declaration_is_to_be_healed() -> None:
    verdict = judged(Finding(WEB, ROOT, UNKNOWN, ABSENT, NOW, "ledger", owner=FLUX))
    assert verdict.response == Response.AUTO_HEAL
    assert "is not known" in verdict.reason


def test_suspension_by_hand_is_an_availability_alert() -> None:
    ref = Ref("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "flux-system", "shop")
    verdict = judged(told(a_finding("/spec/suspend", ABSENT, True, ref=ref)))
    assert (verdict.kind, verdict.response) == (Class.SYNC_AVAILABILITY, Response.ALERT)


HELM = Owner("flux", "shop", "apps", "HelmRelease")


@pytest.mark.parametrize(
    ("differing", "command"),
    [
        pytest.param(
            {"owner": HELM},
            "kubectl annotate --overwrite helmrelease.helm.toolkit.fluxcd.io/shop -n apps "
            'reconcile.fluxcd.io/requestedAt="$(date +%s)"',
            id="Flux",
        ),
        pytest.param(
            {"owner": ARGOCD},
            "argocd app sync shop --resource apps:Deployment:prod/web",
            id="Argo CD",
        ),
        pytest.param(
            {"owner": ARGOCD, "field": SIDECAR, "declared": ABSENT},
            f"kubectl edit deployment.apps/web -n prod  # {SIDECAR}",
            id="Argo CD does not see additions",
        ),
        pytest.param({"owner": Owner("kapp", "shop", None)}, "", id="somebody else"),
        pytest.param({"owner": None}, "", id="nobody"),
    ],
)
def test_revert_command_follows_the_engine(differing: dict[str, Any], command: str) -> None:
    assert revert_command(a_finding(**differing)) == command
