"""A declared field that is gone: a removal leaves no field manager behind, and so does no apply.

Somebody took it away only if it was there: the owner has applied the very revision that declares
it, or what was applied last holds it. An owner that does not follow Git may never have applied it.
"""

from correlator.classify.costs import costly
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, status_of
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.live is ABSENT


def _judge(finding: Finding, scene: Scene) -> Verdict:
    following = scene.following_of(finding)
    if finding.was_applied is True:
        return _taken_away(finding, "it was applied, and removed by a direct write since")
    if following.trouble:
        return _not_applied(finding, f"its reconciler {following.trouble}")
    match following.has_applied(finding.revision):
        case True:
            return _taken_away(finding, "it was removed by a direct write")
        case False:
            return _not_applied(finding, f"its reconciler applied {following.applied} last")
    if finding.was_applied is False:
        return _not_applied(finding, "what was applied last does not hold it")
    cost = costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.UNKNOWN,
        Response.ALERT if cost else Response.ESCALATE,
        "somebody removed it, or it was never applied: neither leaves a trace in managedFields"
        + (f"; {cost}" if cost else ""),
        holders(finding),
    )


def _taken_away(finding: Finding, reason: str) -> Verdict:
    cost = costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if cost else Response.AUTO_HEAL,
        f"{reason}, which leaves no trace in managedFields" + (f"; {cost}" if cost else ""),
        holders(finding),
    )


def _not_applied(finding: Finding, why: str) -> Verdict:
    return Verdict(
        Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE,
        Response.ESCALATE,
        f"Git declares it, and it has not been applied yet: {why}",
        status_of(finding),
    )


RULE = Rule("removed", _fits, _judge)
