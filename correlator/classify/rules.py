"""What kind of difference a finding is, whose, and what to do about it.

`RULES` is the whole table; the first rule that fits a finding decides. To add one: the
rule, in the module for its sort, and its line here.
"""

from dataclasses import replace
from typing import Final

from correlator.classify import controller_rules, object_rules, person_rules
from correlator.classify.rule import Rule, Scene
from correlator.finding import Finding

__all__ = ["RULES", "Rule", "Scene", "classify"]

RULES: Final[tuple[Rule, ...]] = (
    object_rules.RECONCILER,
    object_rules.CREATED,
    object_rules.ORPHAN,
    object_rules.TERMINATING,
    object_rules.MISSING,
    controller_rules.IGNORED,
    controller_rules.AUTOSCALER,
    controller_rules.AUTHORITY,
    controller_rules.DELEGATED,
    person_rules.RESTARTED,
    person_rules.GRANTED,
    person_rules.RECORDED,
    person_rules.EXPLAINED,
    controller_rules.DEFAULTED,
    controller_rules.IMPORTED,
    controller_rules.INJECTED,
    controller_rules.LAGGING,
    controller_rules.DEPLOYED,
    person_rules.REMOVED,
    person_rules.PERSON,
    person_rules.UNKNOWN_WRITER,
)
"""In the order they are asked; the last one fits everything."""


def classify(finding: Finding, scene: Scene) -> Finding:
    """Return *finding* with its verdict."""
    rule = next(each for each in RULES if each.fits(finding, scene))
    return replace(finding, verdict=rule.judge(finding, scene))
