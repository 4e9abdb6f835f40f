"""A certificate authority that a controller writes into webhooks, definitions and API services."""

from typing import Final

from correlator.classify.rule import Rule, Scene
from correlator.classify.suggest import ignore_rule
from correlator.classify.words import holders, writer
from correlator.detector.managers import is_person
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.path_patterns import parse_pattern

_PLACES: Final = tuple(
    map(
        parse_pattern,
        (
            "/webhooks[*]/clientConfig/caBundle",
            "/spec/conversion/webhook/clientConfig/caBundle",
            "/spec/caBundle",
        ),
    )
)


def _fits(finding: Finding, _: Scene) -> bool:
    return any(place.matches(finding.field) for place in _PLACES) and not any(
        map(is_person, finding.managers)
    )


def _judge(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        "certificates are renewed by a controller, which writes their authority here; "
        + writer(finding),
        holders(finding),
        ignore_rule(finding),
    )


RULE = Rule("authority", _fits, _judge)
