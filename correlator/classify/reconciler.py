"""A reconciler that does not follow Git: suspended, failing, or behind."""

from typing import Final

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import kubectl
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.paths import path_of
from glasswarden.kube.reconcilers import reconciler_of

_SOURCES: Final = frozenset({"flux", "argocd"})
_SUSPENDED: Final = (
    path_of("spec", "suspend"),
    path_of("metadata", "annotations", "argocd.argoproj.io/skip-reconcile"),
)


def _fits(finding: Finding, _: Scene) -> bool:
    is_told = finding.source in _SOURCES or finding.field in _SUSPENDED
    return is_told and reconciler_of(finding.ref) is not None


def _judge(finding: Finding, _: Scene) -> Verdict:
    is_suspended = finding.field in _SUSPENDED
    reason = (
        "it is suspended: what is changed by hand stays, and what is changed in Git is not applied"
        if is_suspended
        else f"it does not follow Git: {finding.live}"
    )
    return Verdict(
        Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE,
        Response.ALERT if is_suspended else Response.ESCALATE,
        reason,
        kubectl("get", finding.ref, "-o", "yaml"),
    )


RULE = Rule("reconciler", _fits, _judge)
