"""A field that some other program changed, which nobody named as its owner. Fits everything."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, writer
from correlator.finding import Cause, Class, Finding, Response, Verdict


def _fits(_: Finding, __: Scene) -> bool:
    return True


def _judge(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.CONTROLLER,
        Response.ESCALATE,
        f"{writer(finding)}, and the policy delegates the field to nobody of that name",
        holders(finding),
    )


RULE = Rule("stranger", _fits, _judge)
