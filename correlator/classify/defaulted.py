"""A field that the API server fills in by itself, and that another program prints all the same."""

import shlex

from correlator.classify.rule import Rule, Scene
from correlator.detector.defaults import is_default
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.schema import shape_of


def _fits(finding: Finding, _: Scene) -> bool:
    is_addition = finding.declared is ABSENT and finding.live is not ABSENT
    return (
        is_addition
        and not finding.managers
        and shape_of(finding.ref).typed
        and is_default(finding.field, finding.live, finding.ref.kind)
    )


def _judge(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.RUNTIME_METADATA,
        Cause.DEFAULTING,
        Response.IGNORE,
        "Git does not mention it, and it is what the API server fills in where nothing is said",
        shlex.join(["kubectl", "explain", finding.ref.kind.lower()]),
    )


RULE = Rule("defaulted", _fits, _judge)
