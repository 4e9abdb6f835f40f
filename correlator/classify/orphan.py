"""An object that is still live although Git no longer declares it."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import kubectl
from correlator.detector.orphans import PrunePlan, prune_plan
from correlator.finding import Cause, Class, Finding, Response, Verdict


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.is_orphan


def _judge(finding: Finding, _: Scene) -> Verdict:
    plan = prune_plan(finding)
    application = finding.owner.app if finding.owner else "an application"
    return Verdict(
        Class.ORPHAN,
        Cause.RECONCILIATION_FAILURE,
        Response.PRUNE if plan.is_safe else Response.ALERT,
        f"it carries the marks of {application}, which no longer declares it; {_advice(plan)}",
        kubectl("get", finding.ref, "-o", "yaml"),
        kubectl("delete", finding.ref, "--dry-run=server") if plan.is_safe else "",
    )


def _advice(plan: PrunePlan) -> str:
    if plan.is_terminating:
        waits = f", waiting for {', '.join(plan.finalizers)}" if plan.finalizers else ""
        return f"it is being deleted{waits}"
    if plan.kept_by:
        return f"{plan.kept_by} keeps it from being pruned"
    if plan.holds_data:
        return "deleting it may take data with it: decide, then delete by hand"
    if plan.finalizers:
        return f"prune it; it goes when {', '.join(plan.finalizers)} is done"
    return "prune it"


RULE = Rule("orphan", _fits, _judge)
