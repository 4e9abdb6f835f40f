"""A container or volume that a mutating webhook put into a pod's template."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.suggest import ignore_rule
from correlator.classify.words import holders
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.paths import Select


def _fits(finding: Finding, _: Scene) -> bool:
    is_addition = finding.declared is ABSENT and finding.live is not ABSENT
    return is_addition and not finding.managers and isinstance(finding.field.step, Select)


def _judge(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        "no field manager holds it: a mutating webhook put it there when the object was written",
        holders(finding),
        ignore_rule(finding),
    )


RULE = Rule("injected", _fits, _judge)
