"""A difference in an object without an owner, made by whoever deploys it as a whole.

No engine follows Git there: that somebody applied something else, and that nobody has applied what
Git says by now, look the same.
"""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, writer
from correlator.detector.managers import managers_for
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT


def _fits(finding: Finding, scene: Scene) -> bool:
    if finding.live is ABSENT or finding.owner is not None or not finding.managers:
        return False
    return managers_for(None, scene.policy).applies(finding.managers[0])


def _judge(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ESCALATE,
        "no engine owns it, and it was deployed with something else than Git declares: by somebody "
        f"else's hand, or before Git moved on; {writer(finding)}",
        holders(finding),
    )


RULE = Rule("deployed", _fits, _judge)
