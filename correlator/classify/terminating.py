"""A declared object that somebody is deleting."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import kubectl
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.paths import path_of

_PATH = path_of("metadata", "deletionTimestamp")


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.field == _PATH


def _judge(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT,
        "it is declared, but being deleted; what its finalizers wait for has not happened yet",
        kubectl("get", finding.ref, "-o", "jsonpath={.metadata.finalizers}"),
    )


RULE = Rule("terminating", _fits, _judge)
