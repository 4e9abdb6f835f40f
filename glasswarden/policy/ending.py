"""Who may end a grant, and say what became of the changes: those who could have made them.

A grant that ends lets the reconciler revert a fix in the middle of an incident. The hour does not
matter here: the way back is open when the way in is not.
"""

from datetime import datetime

from glasswarden.policy.actor import Actor
from glasswarden.policy.breakglass.petition import Petition
from glasswarden.policy.breakglass.rules import Rule, people_of
from glasswarden.policy.breakglass.stamp import Stamp, admits
from glasswarden.policy.intent import live_grant, waiting_petition
from glasswarden.policy.judgement import Refused
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write


def judge_closing(write: Write, policy: Policy, now: datetime) -> Refused | None:
    """Return why the writer may not end the grant, or withdraw the request, if they may not."""
    live, petition = live_grant(write, policy, now), waiting_petition(write, policy, now)
    asked = petition if live is None else None
    return _judge(write, policy, live, asked, "end a grant that is not theirs")


def judge_settling(write: Write, policy: Policy, ended: Stamp | None) -> Refused | None:
    """Return why the writer may not say what became of a grant that is over, if they may not."""
    return _judge(write, policy, ended, None, "settle a grant that was not theirs")


def _judge(
    write: Write, policy: Policy, stamp: Stamp | None, petition: Petition | None, act: str
) -> Refused | None:
    actor = write.actor
    if stamp is not None and admits(stamp, actor):
        return None
    if petition is not None and actor.name == petition.actor:
        return None
    rules = [
        rule for rule in policy.glass if rule.is_about(write.target, write.owner, write.labels)
    ]
    given = stamp.rule if stamp else petition.rule if petition else ""
    if any(_may(actor, rule, given) for rule in rules):
        return None
    whose = [stamp.actor] if stamp else [petition.actor] if petition else []
    who = ", ".join([*whose, *dict.fromkeys(people_of(rule.document) for rule in rules)])
    return Refused(f"{actor.name} may not {act}; who may: {who or 'nobody'}")


def _may(actor: Actor, rule: Rule, given: str) -> bool:
    """Tell whether *actor* could have a grant by *rule*, or approve those by the rule *given*."""
    approves = rule.approvers is not None and actor in rule.approvers
    return actor in rule.people or (approves and rule.name == given)
