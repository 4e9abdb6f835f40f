"""A field that a person changed or added, with kubectl or a program like it."""

from datetime import timedelta
from typing import Final

from correlator.classify.costs import costly
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, writer
from correlator.detector.managers import is_person
from correlator.finding import Cause, Class, Finding, Response, Verdict

STABLE: Final = timedelta(days=7)
"""After so long, production relies on the difference: undoing it may bring an old outage back."""


def _fits(finding: Finding, _: Scene) -> bool:
    return any(map(is_person, finding.managers))


def _judge(finding: Finding, scene: Scene) -> Verdict:
    is_old = finding.since is not None and scene.now - finding.since > STABLE
    why = "it is old and stable, so live may be right" if is_old else costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if why else Response.AUTO_HEAL,
        f"it was changed directly; {writer(finding)}" + (f"; {why}" if why else ""),
        holders(finding),
    )


RULE = Rule("person", _fits, _judge)
