"""A difference that nobody made by hand: Git moved on and the reconciler has not, or not yet.

The owner's own manager still holds the live value. While the rollout of what was applied last is
not finished, the next step may only be waiting for it.
"""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import kubectl, status_of
from correlator.detector.managers import managers_for
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT


def _fits(finding: Finding, scene: Scene) -> bool:
    if finding.live is ABSENT or finding.owner is None or not finding.managers:
        return False
    return managers_for(finding.owner, scene.policy).applies(finding.managers[0])


def _judge(finding: Finding, scene: Scene) -> Verdict:
    if finding.ref in scene.rolling:
        reason = "a rollout of the owner's last change has not finished; it may still be at work"
        verify = kubectl("rollout status", finding.ref)
        response = Response.ALERT
    else:
        reason = "nobody changed it by hand: Git moved on, and its reconciler has not applied it"
        verify = status_of(finding)
        response = Response.ESCALATE
    return Verdict(
        Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE,
        response,
        f"{reason}; field manager {finding.managers[0]!r} holds the live value",
        verify,
    )


RULE = Rule("lagging", _fits, _judge)
