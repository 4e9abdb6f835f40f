"""A difference that another program told, without telling who made it."""

from typing import Final

from correlator.classify.costs import costly
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders
from correlator.finding import Cause, Class, Finding, Response, Verdict

_SEEN_BY_US: Final = frozenset({"git", "flux", "argocd", "argocd-api"})


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.source not in _SEEN_BY_US and not finding.managers


def _judge(finding: Finding, _: Scene) -> Verdict:
    cost = costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if cost else Response.ESCALATE,
        f"{finding.source} told it, but not who wrote it" + (f"; {cost}" if cost else ""),
        holders(finding),
    )


RULE = Rule("imported", _fits, _judge)
