"""A field that somebody changed under a break-glass grant: it has to come home one way or other."""

import shlex

from correlator.classify.revert import revert_command
from correlator.classify.rule import Rule, Scene
from correlator.classify.words import holders
from correlator.finding import Cause, Class, Finding, Response, Verdict, time_as_text
from correlator.link.link import State


def _fits(finding: Finding, _: Scene) -> bool:
    link = finding.link
    return link is not None and link.state is State.EXPLAINED and link.grant != ""


def _judge(finding: Finding, scene: Scene) -> Verdict:
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


RULE = Rule("granted", _fits, _judge)
