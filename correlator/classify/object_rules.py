"""Class rules for whole objects.

An object that was created by hand, one that Git no longer declares, one that is being deleted, one
that is missing, and a reconciler that does not follow Git: suspended, failing, or behind.
"""

from typing import Final

from correlator.classify.advice import is_explained, revert_command
from correlator.classify.rule import Rule, Scene
from correlator.detector.orphans import PrunePlan, prune_plan
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.engines.registry import BY_NAME, ENGINES, reconciler_of
from glasswarden.kube.notation import kubectl
from glasswarden.kube.paths import path_of


def _is_created(finding: Finding, _: Scene) -> bool:
    return finding.source == "ledger" and finding.is_orphan


def _judge_created(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.ORPHAN,
        Cause.PERSON,
        Response.ESCALATE,
        "it was created directly, and nobody has applied it from Git since: declare it, or delete "
        "it",
        kubectl("get", finding.ref, "-o", "yaml", "--show-managed-fields"),
        kubectl("delete", finding.ref, "--dry-run=server"),
    )


CREATED = Rule("created", _is_created, _judge_created)


def _is_orphan(finding: Finding, _: Scene) -> bool:
    return finding.is_orphan


def _judge_orphan(finding: Finding, _: Scene) -> Verdict:
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


ORPHAN = Rule("orphan", _is_orphan, _judge_orphan)


_PATH = path_of("metadata", "deletionTimestamp")


def _is_terminating(finding: Finding, _: Scene) -> bool:
    return finding.field == _PATH


def _judge_terminating(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT,
        "it is declared, but being deleted; what its finalizers wait for has not happened yet",
        kubectl("get", finding.ref, "-o", "jsonpath={.metadata.finalizers}"),
    )


TERMINATING = Rule("terminating", _is_terminating, _judge_terminating)


_HOLDS_DATA: Final = frozenset({"Namespace", "PersistentVolume", "PersistentVolumeClaim"})


def _is_missing(finding: Finding, _: Scene) -> bool:
    return finding.is_missing_object


def _judge_missing(finding: Finding, scene: Scene) -> Verdict:
    following = scene.following_of(finding)
    if finding.source != "ledger" and not is_explained(finding):
        if following.trouble:
            return _not_applied(finding, f"its reconciler {following.trouble}")
        if following.has_applied(finding.revision) is False:
            return _not_applied(finding, f"its reconciler applied {following.applied} last")
    holds_data = finding.ref.kind in _HOLDS_DATA
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if holds_data else Response.AUTO_HEAL,
        f"{_why(finding)}{'; an empty one would take its place' if holds_data else ''}",
        kubectl("get", finding.ref),
        revert_command(finding) if finding.source == "ledger" else "",
    )


def _not_applied(finding: Finding, why: str) -> Verdict:
    return Verdict(
        Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE,
        Response.ESCALATE,
        f"Git declares it, and it has not been applied yet, or not again: {why}",
        kubectl("get", finding.ref),
    )


def _why(finding: Finding) -> str:
    if finding.source == "ledger":
        return (
            "it was deleted directly, and nobody has made it anew since; whether Git still "
            "declares it is not known"
        )
    return "Git declares it and the cluster lacks it: somebody deleted it, or it was never applied"


MISSING = Rule("missing", _is_missing, _judge_missing)


_SOURCES: Final = frozenset(BY_NAME)
_SUSPENDED: Final = frozenset(path for engine in ENGINES for path in engine.suspensions)


def _is_reconciler(finding: Finding, _: Scene) -> bool:
    is_told = finding.source in _SOURCES or finding.field in _SUSPENDED
    return is_told and reconciler_of(finding.ref) is not None


def _judge_reconciler(finding: Finding, _: Scene) -> Verdict:
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


RECONCILER = Rule("reconciler", _is_reconciler, _judge_reconciler)
