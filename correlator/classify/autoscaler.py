"""Replicas that an autoscaler sets while Git declares a number."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.suggest import argocd_rule, removal
from correlator.classify.words import is_explained, kubectl
from correlator.detector.managers import is_kubernetes, is_person
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.paths import REPLICAS


def _fits(finding: Finding, scene: Scene) -> bool:
    if finding.field != REPLICAS or is_explained(finding):
        return False
    if finding.managers and is_person(finding.managers[0]):
        return False
    ref = finding.ref
    limits = scene.autoscaled.get((ref.kind, ref.namespace, ref.name))
    if limits is not None:
        return _is_within(finding.live, *limits)
    # Of Kubernetes' own programs only the autoscaler writes through `scale`.
    return any(map(is_kubernetes, finding.managers))


def _is_within(replicas: Value, fewest: int, most: int) -> bool:
    # An object that is scaled to none is out of its autoscaler's hands until somebody scales it up.
    return isinstance(replicas, int) and fewest <= replicas <= most


def _judge(finding: Finding, _: Scene) -> Verdict:
    advice = [removal(finding)] if finding.declared is not ABSENT else []
    if finding.owner is not None and finding.owner.engine == "argocd":
        advice.append(argocd_rule(finding.ref, finding.field))
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        "an autoscaler sets the replicas while Git declares them: each undoes the other's work",
        kubectl("describe", finding.ref),
        "\n".join(advice),
    )


RULE = Rule("autoscaler", _fits, _judge)
