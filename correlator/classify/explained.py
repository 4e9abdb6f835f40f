"""A difference that records put down to somebody, whatever the field manager is called."""

from correlator.classify.costs import costly
from correlator.classify.person import STABLE
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, is_explained
from correlator.finding import Cause, Class, Finding, Response, Verdict, time_as_text


def _fits(finding: Finding, _: Scene) -> bool:
    return is_explained(finding)


def _judge(finding: Finding, scene: Scene) -> Verdict:
    link = finding.link
    actor, time = (link.actor, link.time or finding.since) if link else ("", finding.since)
    is_old = time is not None and scene.now - time > STABLE
    why = "it is old and stable, so live may be right" if is_old else costly(finding)
    at = f" at {time_as_text(time)}" if time else ""
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if why else Response.AUTO_HEAL,
        f"it was changed directly, by {actor}{at}" + (f"; {why}" if why else ""),
        holders(finding),
    )


RULE = Rule("explained", _fits, _judge)
