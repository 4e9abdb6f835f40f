"""A direct write that was let in without a grant, and that still stands, by the ledger."""

from correlator.classify.costs import costly
from correlator.classify.person import STABLE
from correlator.classify.revert import revert_command
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders
from correlator.finding import Cause, Class, Finding, Response, Verdict


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.source == "ledger"


def _judge(finding: Finding, scene: Scene) -> Verdict:
    is_old = finding.since is not None and scene.now - finding.since > STABLE
    why = "it is old and stable, so live may be right" if is_old else costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if why else Response.AUTO_HEAL,
        "it was changed directly, and its owner has not applied it since"
        + (f"; {why}" if why else ""),
        holders(finding),
        revert_command(finding),
    )


RULE = Rule("recorded", _fits, _judge)
