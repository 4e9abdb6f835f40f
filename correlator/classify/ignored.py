"""A field that the owner's engine has been told to leave alone."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, writer
from correlator.finding import Cause, Class, Finding, Response, Verdict


def _fits(finding: Finding, scene: Scene) -> bool:
    return any(ignores(finding) for ignores in scene.ignores)


def _judge(finding: Finding, _: Scene) -> Verdict:
    application = finding.owner.app if finding.owner else ""
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        f"ignoreDifferences of {application} leaves it alone; {writer(finding)}",
        holders(finding),
    )


RULE = Rule("ignored", _fits, _judge)
