"""A declared field that is gone: a removal leaves no field manager behind."""

from correlator.classify.costs import costly
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.live is ABSENT


def _judge(finding: Finding, _: Scene) -> Verdict:
    cost = costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if cost else Response.AUTO_HEAL,
        "it was removed by a direct write, which leaves no trace in managedFields"
        + (f"; {cost}" if cost else ""),
        holders(finding),
    )


RULE = Rule("removed", _fits, _judge)
