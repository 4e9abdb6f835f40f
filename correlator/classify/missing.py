"""An object that Git declares and the cluster lacks."""

from typing import Final

from correlator.classify.revert import revert_command
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import kubectl
from correlator.finding import Cause, Class, Finding, Response, Verdict

_HOLDS_DATA: Final = frozenset({"Namespace", "PersistentVolume", "PersistentVolumeClaim"})


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.is_missing_object


def _judge(finding: Finding, _: Scene) -> Verdict:
    holds_data = finding.ref.kind in _HOLDS_DATA
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if holds_data else Response.AUTO_HEAL,
        f"{_why(finding)}{'; an empty one would take its place' if holds_data else ''}",
        kubectl("get", finding.ref),
        revert_command(finding) if finding.source == "ledger" else "",
    )


def _why(finding: Finding) -> str:
    if finding.source == "ledger":
        return (
            "it was deleted directly, and nobody has made it anew since; whether Git still "
            "declares it is not known"
        )
    return "Git declares it and the cluster lacks it: somebody deleted it, or it was never applied"


RULE = Rule("missing", _fits, _judge)
