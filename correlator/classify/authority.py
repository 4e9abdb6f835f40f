"""A certificate authority that a controller writes into webhooks, definitions and API services."""

from typing import Final

from correlator.classify.rule import Rule, Scene
from correlator.classify.suggest import ignore_rule
from correlator.classify.words import holders, is_explained, writer
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


_INJECTORS: Final = frozenset(
    {
        "cainjector", "cert-manager-cainjector", "gatekeeper", "glasswarden-certs", "kyverno",
        "pilot-discovery", "service-ca-operator",
    }
)  # fmt: skip
"""Programs that are known to write it. The policy may name others: then the field is delegated."""


def _fits(finding: Finding, _: Scene) -> bool:
    # Whoever can swap an authority can stand in for the server behind it.
    is_written = isinstance(finding.live, str) and finding.live != ""
    return (
        is_written
        and any(place.matches(finding.field) for place in _PLACES)
        and bool(finding.managers)
        and finding.managers[0] in _INJECTORS
        and not is_explained(finding)
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
