"""Replicas that an autoscaler sets while Git declares a number."""

from typing import Final

from correlator.classify.rule import Rule, Scene
from correlator.classify.suggest import argocd_rule, removal
from correlator.classify.words import kubectl
from correlator.detector.managers import is_kubernetes
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.paths import path_of

_REPLICAS: Final = path_of("spec", "replicas")


def _fits(finding: Finding, scene: Scene) -> bool:
    if finding.field != _REPLICAS:
        return False
    ref = finding.ref
    return (ref.kind, ref.namespace, ref.name) in scene.autoscaled or any(
        # Of Kubernetes' own programs only the autoscaler writes through `scale`.
        is_kubernetes(manager)
        for manager in finding.managers
    )


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
