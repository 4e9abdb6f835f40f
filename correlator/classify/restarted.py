"""The trace of `kubectl rollout restart`: an annotation that changes nothing but the pods' age."""

from typing import Final

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders, writer
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.paths import path_of

_PATH: Final = path_of(
    "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"
)


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.field == _PATH and finding.declared is ABSENT


def _judge(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.RUNTIME_METADATA,
        Cause.PERSON,
        Response.IGNORE,
        f"its pods were restarted; {writer(finding)}",
        holders(finding),
    )


RULE = Rule("restarted", _fits, _judge)
