"""Class rules for differences that somebody made.

- the annotation of `kubectl rollout restart`, which changes only the age of pods;
- a field that was changed under a break-glass grant, and needs a follow-up;
- a direct write that was allowed without a grant and is still live, by the ledger;
- a difference that records attribute to somebody, whatever the field manager is called;
- a declared field that was removed. A removal leaves no field manager, like a missing apply. So it
  counts only if the owner has applied the revision that declares it, or applied the field last;
- a field that a person changed or added, with kubectl or a similar program;
- a field that an unknown program changed. This rule matches everything.
"""

import shlex
from datetime import timedelta
from typing import Final

from correlator.attribution.link import State
from correlator.classify.advice import (
    costly,
    holders,
    is_explained,
    revert_command,
    status_of,
    writer,
)
from correlator.classify.rule import Rule, Scene
from correlator.detector.managers import is_person
from correlator.finding import Cause, Class, Finding, Response, Verdict, time_as_text
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.paths import path_of

_PATH: Final = path_of(
    "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"
)


def _is_restarted(finding: Finding, _: Scene) -> bool:
    return finding.field == _PATH and finding.declared is ABSENT


def _judge_restarted(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.RUNTIME_METADATA,
        Cause.PERSON,
        Response.IGNORE,
        f"its pods were restarted; {writer(finding)}",
        holders(finding),
    )


RESTARTED = Rule("restarted", _is_restarted, _judge_restarted)


def _is_granted(finding: Finding, _: Scene) -> bool:
    link = finding.link
    return link is not None and link.state is State.EXPLAINED and link.grant != ""


def _judge_granted(finding: Finding, scene: Scene) -> Verdict:
    end = scene.open_grants.get(finding.link.grant if finding.link else "")
    if end is not None:
        reason = f"it was changed under a grant that is open until {time_as_text(end)}"
        response = Response.BACKPORT
    else:
        reason = "the grant that it was changed under is over, and it is still live"
        response = Response.ALERT
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        response,
        f"{reason}: bring it to Git, or put it back",
        holders(finding),
        "\n".join(filter(None, (_backport(finding), revert_command(finding)))),
    )


def _backport(finding: Finding) -> str:
    ticket = finding.link.ticket if finding.link else ""
    return f"glasswarden backport --ticket {shlex.quote(ticket)} --repo DIR" if ticket else ""


GRANTED = Rule("granted", _is_granted, _judge_granted)


STABLE: Final = timedelta(days=7)
"""After so long, production relies on the difference: undoing it may bring an old outage back."""


def _is_person(finding: Finding, _: Scene) -> bool:
    return any(map(is_person, finding.managers))


def _judge_person(finding: Finding, scene: Scene) -> Verdict:
    is_old = finding.since is not None and scene.now - finding.since > STABLE
    why = "it is old and stable, so live may be right" if is_old else costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if why else Response.AUTO_HEAL,
        f"it was changed directly; {writer(finding)}" + (f"; {why}" if why else ""),
        holders(finding),
    )


PERSON = Rule("person", _is_person, _judge_person)


def _is_recorded(finding: Finding, _: Scene) -> bool:
    return finding.source == "ledger"


def _judge_recorded(finding: Finding, scene: Scene) -> Verdict:
    is_old = finding.since is not None and scene.now - finding.since > STABLE
    why = "it is old and stable, so live may be right" if is_old else costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if why else Response.AUTO_HEAL,
        "it was changed directly, and its owner has not applied it since"
        + (f"; {why}" if why else ""),
        holders(finding),
        revert_command(finding),
    )


RECORDED = Rule("recorded", _is_recorded, _judge_recorded)


def _is_explained(finding: Finding, _: Scene) -> bool:
    return is_explained(finding)


def _judge_explained(finding: Finding, scene: Scene) -> Verdict:
    link = finding.link
    actor, time = (link.actor, link.time or finding.since) if link else ("", finding.since)
    is_old = time is not None and scene.now - time > STABLE
    why = "it is old and stable, so live may be right" if is_old else costly(finding)
    at = f" at {time_as_text(time)}" if time else ""
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if why else Response.AUTO_HEAL,
        f"it was changed directly, by {actor}{at}" + (f"; {why}" if why else ""),
        holders(finding),
    )


EXPLAINED = Rule("explained", _is_explained, _judge_explained)


def _is_removed(finding: Finding, _: Scene) -> bool:
    return finding.live is ABSENT


def _judge_removed(finding: Finding, scene: Scene) -> Verdict:
    following = scene.following_of(finding)
    if finding.was_applied is True:
        return _new_removal_verdict(finding, "it was applied, and removed by a direct write since")
    if following.trouble:
        return _not_applied(finding, f"its reconciler {following.trouble}")
    match following.has_applied(finding.revision):
        case True:
            return _new_removal_verdict(finding, "it was removed by a direct write")
        case False:
            return _not_applied(finding, f"its reconciler applied {following.applied} last")
    if finding.was_applied is False:
        return _not_applied(finding, "what was applied last does not hold it")
    cost = costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.UNKNOWN,
        Response.ALERT if cost else Response.ESCALATE,
        "somebody removed it, or it was never applied: neither leaves a trace in managedFields"
        + (f"; {cost}" if cost else ""),
        holders(finding),
    )


def _new_removal_verdict(finding: Finding, reason: str) -> Verdict:
    cost = costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if cost else Response.AUTO_HEAL,
        f"{reason}, which leaves no trace in managedFields" + (f"; {cost}" if cost else ""),
        holders(finding),
    )


def _not_applied(finding: Finding, why: str) -> Verdict:
    return Verdict(
        Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE,
        Response.ESCALATE,
        f"Git declares it, and it has not been applied yet: {why}",
        status_of(finding),
    )


REMOVED = Rule("removed", _is_removed, _judge_removed)


def _is_unknown_writer(_: Finding, __: Scene) -> bool:
    return True


def _judge_unknown_writer(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.CONTROLLER,
        Response.ESCALATE,
        f"{writer(finding)}, and the policy delegates the field to nobody of that name",
        holders(finding),
    )


UNKNOWN_WRITER = Rule("stranger", _is_unknown_writer, _judge_unknown_writer)
