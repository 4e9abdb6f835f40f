"""A difference that nobody made by hand: Git moved on and the reconciler has not, or not yet.

The owner's own manager still holds the live value. While the rollout of what was applied last is
not finished, the next step may only be waiting for it.
"""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, kubectl
from correlator.detector.managers import managers_for
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.owners import Owner


def _fits(finding: Finding, scene: Scene) -> bool:
    if finding.declared is ABSENT or finding.live is ABSENT or not finding.managers:
        return False
    return managers_for(finding.owner, scene.policy).applies(finding.managers[0])


def _judge(finding: Finding, scene: Scene) -> Verdict:
    if finding.ref in scene.rolling:
        reason = "a rollout of the owner's last change has not finished; it may still be at work"
        verify = kubectl("rollout status", finding.ref)
        response = Response.ALERT
    else:
        reason = "nobody changed it by hand: Git moved on, and its reconciler has not applied it"
        verify = _status(finding.owner) if finding.owner else holders(finding)
        response = Response.ESCALATE
    return Verdict(
        Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE,
        response,
        f"{reason}; field manager {finding.managers[0]!r} holds the live value",
        verify,
    )


def _status(owner: Owner) -> str:
    """Return the command that shows how the owner's reconciler is."""
    namespace = f" -n {owner.namespace}" if owner.namespace else " -A"
    return f"kubectl get {owner.kind.lower() or 'application'} {owner.app}{namespace} -o yaml"


RULE = Rule("lagging", _fits, _judge)
