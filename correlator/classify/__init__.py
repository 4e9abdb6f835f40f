"""What kind of difference a finding is, whose, and what to do about it.

`RULES` is the whole table; the first rule that fits a finding decides. To add one: a file with its
`RULE`, and its line here.
"""

from dataclasses import replace
from typing import Final

from correlator.classify import (
    authority,
    autoscaler,
    created,
    defaulted,
    delegated,
    deployed,
    explained,
    granted,
    ignored,
    imported,
    injected,
    lagging,
    missing,
    orphan,
    person,
    reconciler,
    recorded,
    removed,
    restarted,
    stranger,
    terminating,
)
from correlator.classify.rule import Rule, Scene
from correlator.finding import Finding

__all__ = ["RULES", "Rule", "Scene", "classified"]

RULES: Final[tuple[Rule, ...]] = (
    reconciler.RULE,
    created.RULE,
    orphan.RULE,
    terminating.RULE,
    missing.RULE,
    ignored.RULE,
    autoscaler.RULE,
    authority.RULE,
    delegated.RULE,
    restarted.RULE,
    granted.RULE,
    recorded.RULE,
    explained.RULE,
    defaulted.RULE,
    imported.RULE,
    injected.RULE,
    lagging.RULE,
    deployed.RULE,
    removed.RULE,
    person.RULE,
    stranger.RULE,
)
"""In the order they are asked; the last one fits everything."""


def classified(finding: Finding, scene: Scene) -> Finding:
    """Return *finding* with its verdict."""
    rule = next(each for each in RULES if each.fits(finding, scene))
    return replace(finding, verdict=rule.judge(finding, scene))
