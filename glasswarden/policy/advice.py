"""How to get in by hand after all: the last lines of a denial."""

from datetime import datetime
from typing import Final

from glasswarden.duration import render_duration
from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass.rules import Rule, people_of
from glasswarden.policy.breakglass.stamp import admits
from glasswarden.policy.granting import grant_use
from glasswarden.policy.intent import Intent, grant_around, intent_of, live_grant
from glasswarden.policy.judgement import out_of_hours, rule_for
from glasswarden.policy.policy import Policy
from glasswarden.policy.terms import uncovered
from glasswarden.policy.write import Write

COMMAND: Final = "  kubectl glasswarden break "
"""How the line begins that is there to be copied."""

# kubectl knows these by their kind alone.
_SHORT: Final = frozenset({"", "apps", "batch", "autoscaling", "networking.k8s.io"})


def advice(write: Write, policy: Policy, now: datetime) -> list[str]:
    """Return what a person who was refused can do about it by breaking the glass."""
    why = grant_use(write, policy, now)
    lines = [f"Break-glass: {why}."] if isinstance(why, str) and why else []
    intent = intent_of(write, policy, now)
    if intent not in {Intent.NOTHING, Intent.ASK}:
        return lines
    rule = rule_for(write, policy, now)
    if rule is None:
        late = out_of_hours(write, policy)
        if late is None:
            return [*lines, _who(write, policy)]
        return lines or [f"Break-glass: {late}."]
    if lines and (intent is Intent.ASK or _has_one(write, policy, now)):
        return lines  # they know how: they have just asked, or have a grant that is not for this
    never = uncovered(rule, write)
    if never is not None:
        return [*lines, f"Break-glass: by rule {rule.name!r}, {never}."]
    second = (
        f" ({people_of(rule.document.approval)} must approve)" if rule.document.approval else ""
    )
    return [*lines, f"To break the glass{second}:", f"{COMMAND}{asking(write.target, rule)}"]


def _has_one(write: Write, policy: Policy, now: datetime) -> bool:
    live = live_grant(write, policy, now) or grant_around(write, policy, now)
    return live is not None and admits(live, write.actor)


def asking(ref: Ref, rule: Rule) -> str:
    """Return what the command is to be given that asks for a grant on the object."""
    words = f'--ticket TICKET --reason "REASON" --ttl {render_duration(rule.default_ttl)}'
    return f"{resource(ref)} {words}"


def resource(ref: Ref) -> str:
    """Return the object as kubectl's arguments name it."""
    kind = ref.kind.lower() if ref.group in _SHORT else f"{ref.kind.lower()}.{ref.group}"
    return f"{kind}/{ref.name} -n {ref.namespace}" if ref.namespace else f"{kind}/{ref.name}"


def _who(write: Write, policy: Policy) -> str:
    """Return who may break the glass, where the writer may not."""
    people = [
        people_of(rule.document)
        for rule in policy.glass
        if rule.is_about(write.target, write.owner, write.labels)
    ]
    if not people:
        return "Nobody may break the glass here: the policy has no rule for it."
    return f"Who may break the glass here: {', '.join(dict.fromkeys(people))}."
