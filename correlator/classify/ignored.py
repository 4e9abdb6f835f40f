"""A field that the owner's engine has been told to leave alone."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, writer
from correlator.finding import Cause, Class, Finding, Response, Verdict


def _why(finding: Finding, scene: Scene) -> str:
    return next(filter(None, (ignores(finding) for ignores in scene.ignores)), "")


def _fits(finding: Finding, scene: Scene) -> bool:
    return bool(_why(finding, scene))


def _judge(finding: Finding, scene: Scene) -> Verdict:
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        f"{_why(finding, scene)}; {writer(finding)}",
        holders(finding),
    )


RULE = Rule("ignored", _fits, _judge)
