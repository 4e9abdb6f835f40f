"""An object that somebody made by hand where Git should have, and that its owner never applied."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.words import kubectl
from correlator.finding import Cause, Class, Finding, Response, Verdict


def _fits(finding: Finding, _: Scene) -> bool:
    return finding.source == "ledger" and finding.is_orphan


def _judge(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.ORPHAN,
        Cause.PERSON,
        Response.ESCALATE,
        "it was created directly, and nobody has applied it from Git since: declare it, or delete "
        "it",
        kubectl("get", finding.ref, "-o", "yaml", "--show-managed-fields"),
        kubectl("delete", finding.ref, "--dry-run=server"),
    )


RULE = Rule("created", _fits, _judge)
