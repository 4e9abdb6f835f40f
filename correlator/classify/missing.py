"""An object that Git declares and the cluster lacks."""

from typing import Final

from correlator.classify.revert import revert_command
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import is_explained, kubectl
from correlator.finding import Cause, Class, Finding, Response, Verdict

_HOLDS_DATA: Final = frozenset({"Namespace", "PersistentVolume", "PersistentVolumeClaim"})


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.is_missing_object


def _judge(finding: Finding, scene: Scene) -> Verdict:
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


RULE = Rule("missing", _fits, _judge)
