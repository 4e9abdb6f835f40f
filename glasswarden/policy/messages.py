"""What a person reads in the terminal: whose object it is, what was refused, where to go.

How to get in by hand after all: the last lines of a denial.

What a person reads after they broke the glass, as warnings: plain kubectl shows nothing else.

What others are told of a write, on the object that it was about.

Paths are told and never values: more people may read Events than the objects that they are about.
"""

import json
from datetime import datetime
from typing import Final

from glasswarden.duration import render_duration
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import title_of
from glasswarden.kube.events import Event
from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import moment
from glasswarden.policy.breakglass.rules import Rule, is_namespace, people_of
from glasswarden.policy.breakglass.tokens import Act, GrantUse, admits
from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.grants import grant_use
from glasswarden.policy.holds import deletion_hold
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import (
    Intent,
    grant_around,
    intent_of,
    live_grant,
    out_of_hours,
    rule_for,
    uncovered,
)
from glasswarden.policy.types import Mode, Operation
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


MOST_FIELDS: Final = 6
"""More lines than these push the rest of the message off the screen."""

LONGEST_VALUE: Final = 40

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
"""As `json.dumps`, which makes an encoder for each value."""

LONGEST_LINE: Final = 240
"""The API server cuts a warning at 256 characters."""


def denial(write: Write, policy: Policy, clause: Clause, now: datetime) -> str:
    """Return why *write* was refused, for the person who made it."""
    lines = _denial_lines(write, policy, clause, "is refused", now)
    # A command that is cut cannot be copied; nobody bounds a denial but its readers' patience.
    return "\n".join(printable(each) if each.startswith(COMMAND) else tidy(each) for each in lines)


def claim_of(write: Write, policy: Policy, clause: Clause, now: datetime) -> str:
    """Return why *write* was refused without what it changes, for whoever else is told."""
    on_hold = _on_hold(write, policy, "", now) if clause is Clause.HELD else []
    return tidy(on_hold[0] if on_hold else f"{_claim(write, clause)}.")


def hitch_of(write: Write, policy: Policy, clause: Clause, now: datetime) -> str:
    """Return why no grant lets *write* pass, where somebody asked for one or has one."""
    if clause in {Clause.HELD, Clause.MARKS}:
        return ""
    why = grant_use(write, policy, now)
    return tidy(f"{why}.") if isinstance(why, str) and why else ""


def forgery_told(write: Write, why: str) -> str:
    """Return why a stamp is not stored."""
    return tidy(f"{write.target} is not written: {why}. Stamps are Glasswarden's alone to write.")


def warning(
    write: Write, policy: Policy, clause: Clause, mode: Mode, now: datetime
) -> tuple[str, ...]:
    """Return what *write* met or would have met, a warning a line.

    The API server drops a warning that holds a line break.
    """
    verdict = "would be refused" if mode is Mode.ENFORCE else "is recorded"
    return tuple(map(tidy, _denial_lines(write, policy, clause, verdict, now)))


def _denial_lines(
    write: Write, policy: Policy, clause: Clause, verdict: str, now: datetime
) -> list[str]:
    if clause is Clause.HELD:
        return _on_hold(write, policy, verdict, now)
    lines = [f"{_claim(write, clause)}; this {_act(write)} {verdict}."]
    lines += _changed(write, policy)
    if policy.guards(write):
        lines.append(_instead(write))
    if clause is not Clause.MARKS:
        lines += advice(write, policy, now)
    return lines


def _on_hold(write: Write, policy: Policy, verdict: str, now: datetime) -> list[str]:
    """Return until when and why a reconciler's deletion has to wait."""
    grant = deletion_hold(write, policy, now)
    if grant is None:
        return []
    until = moment(grant.expires)
    owner = _application(write.owner) if write.owner else "its reconciler"
    on = write.glass.namespace if grant.namespace else write.glass.before
    reason = on.get(names.REASON)
    return [
        f"{write.target} is held until {until}: {grant.actor} broke the glass for {grant.ticket}"
        + (f" ({reason})" if reason else "")
        + ".",
        f"Its deletion by {owner} {verdict} while the grant lives; whoever closes it lets it pass.",
    ]


def _claim(write: Write, clause: Clause) -> str:
    """Return, in half a sentence, why GitOps has a say in it."""
    subject = write.target
    if write.owner is None and is_namespace(subject) and write.operation is Operation.DELETE:
        return f"namespace {subject.name} is reserved for GitOps, with all that is in it"
    if write.owner is None and is_namespace(subject):
        return f"{subject} can have a grant for all that is in it"
    if write.owner is None:
        return f"namespace {write.target.namespace} is reserved for GitOps"
    if write.steers:
        return f"{subject} tells {_engine(write.owner)} what to do"
    application = _application(write.owner)
    if clause is Clause.MARKS and write.operation is Operation.CREATE:
        return f"{subject} claims to be managed by {application}, which did not make it"
    if clause is Clause.MARKS:
        return f"the marks on {subject} are for {application} to change"
    return f"{subject} is managed by {application}"


def _act(write: Write) -> str:
    return {Operation.CREATE: "creation", Operation.DELETE: "deletion"}.get(
        write.operation, "direct write"
    )


def _instead(write: Write) -> str:
    if write.source is not None:
        path = f", path {write.source.path}" if write.source.path else ""
        revision = f" at {write.source.revision}" if write.source.revision else ""
        return f"Change it in {write.source.repository}{revision}{path} instead."
    if write.owner is None or write.steers:
        return "Change it in Git instead."
    return "Change it in the Git repository of that application instead."


def _engine(owner: Owner) -> str:
    return title_of(owner.engine)


def _application(owner: Owner) -> str:
    name = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    return " ".join(part for part in (_engine(owner), owner.kind, name) if part)


def _changed(write: Write, policy: Policy) -> list[str]:
    lines = [f"  {_line(write, change, policy)}" for change in write.changes[:MOST_FIELDS]]
    if len(write.changes) > MOST_FIELDS:
        lines.append(f"  … and {len(write.changes) - MOST_FIELDS} more")
    return lines


def _line(write: Write, change: Change, policy: Policy) -> str:
    if policy.hides(write.target, change):
        return f"{change.path}: (hidden)"
    return f"{change.path}: {_value(change.old)} → {_value(change.new)}"


def _value(value: object) -> str:
    if value is ABSENT:
        return "(none)"
    text = _encode(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def tidy(line: str) -> str:
    """Return *line* cut to length, without what a terminal would obey."""
    text = printable(line)
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"


def printable(line: str) -> str:
    """Return *line* without what a terminal would obey: keys are anybody's text."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


def receipt(use: GrantUse, write: Write, policy: Policy) -> tuple[str, ...]:
    """Return what *use* means for the person, a line each; nothing where it is plain."""
    return tuple(map(tidy, _receipt_lines(use, write, policy)))


def _receipt_lines(use: GrantUse, write: Write, policy: Policy) -> tuple[str, ...]:
    where = f"all in {write.target}" if is_namespace(write.target) else str(write.target)
    match use.act:
        case Act.ISSUED | Act.APPROVED | Act.EXTENDED:
            until = f"until {moment(use.expires)} ({use.ticket}, grant {use.id})"
            return (f"{use.actor} may write to {where} {until}.",)
        case Act.REQUESTED:
            return (
                f"This waits until {moment(use.expires)} for {_approvers(use, policy)} to approve:",
                f"  kubectl annotate {resource(write.target)} {names.APPROVE}={use.id}",
            )
        case Act.CLOSED:
            return (f"The grant for {use.ticket} is closed: Git decides about {where} again.",)
        case Act.SETTLED:
            return (f"The grant {use.id} on {where} is recorded as {use.outcome}.",)
        case Act.USED:
            return ()


def _approvers(use: GrantUse, policy: Policy) -> str:
    rule = policy.glass_rule(use.rule)
    approval = rule.document.approval if rule else None
    return people_of(approval) if approval else "somebody"


_REASONS: Final = {
    Act.REQUESTED: "BreakGlassRequested",
    Act.APPROVED: "BreakGlassApproved",
    Act.ISSUED: "BreakGlassGranted",
    Act.EXTENDED: "BreakGlassExtended",
    Act.USED: "BreakGlassUsed",
    Act.CLOSED: "BreakGlassClosed",
    Act.SETTLED: "BreakGlassSettled",
}


def event_of(write: Write, decision: Decision) -> Event | None:
    """Return what is told of *write*; nothing of a dry run, and of what is all in order."""
    if write.dry_run or not write.target.name:
        return None
    if not decision.allowed:
        note = _refusal(write, decision)
        return Event(write.target, _refused_as(write, decision), _action(write), note, warning=True)
    use = decision.grant
    if use is None:
        return None
    return Event(write.target, _REASONS[use.act], _action(write), _sentence(use, write))


def _action(write: Write) -> str:
    return "Scale" if write.subresource == "scale" else str(write.operation).title()


def _refused_as(write: Write, decision: Decision) -> str:
    if decision.clause is Clause.HELD:
        return "DeletionHeld"
    asked = write.glass.before.texts != write.glass.after.texts
    return "BreakGlassRefused" if asked else "WriteRefused"


def _refusal(write: Write, decision: Decision) -> str:
    """Return the refusal without the fields' values, which only the writer is told."""
    if _refused_as(write, decision) == "BreakGlassRefused" and decision.hitch:
        return f"{write.actor.name} asked and was refused: {decision.hitch}"
    told = [f"{write.actor.name} was refused {_doing(write)}: {decision.claim}"]
    if decision.hitch:
        told.append(decision.hitch if decision.unavailable else f"Break-glass: {decision.hitch}")
    return " ".join(told)


def _doing(write: Write) -> str:
    if write.operation is Operation.UPDATE:
        return f"to change {_fields(write) or 'break-glass annotations'}"
    return {Operation.CREATE: "to create it", Operation.DELETE: "to delete it"}.get(
        write.operation, "to connect to it"
    )


def _sentence(use: GrantUse, write: Write) -> str:
    where = "all in it" if is_namespace(write.target) else "it"
    about = f"for {use.ticket}: {use.reason}"
    match use.act:
        case Act.ISSUED | Act.EXTENDED:
            with_it = f" Changed in the same write: {fields}." if (fields := _fields(write)) else ""
            return (
                f"{use.actor} may write to {where} until {moment(use.expires)}, {about}.{with_it}"
            )
        case Act.APPROVED:
            until = f"until {moment(use.expires)}, approved by {use.approver}"
            return f"{use.actor} may write to {where} {until}, {about}."
        case Act.REQUESTED:
            until = f"Somebody else can approve it until {moment(use.expires)}."
            return f"{use.actor} asks to write to {where}, {about}. {until}"
        case Act.CLOSED:
            outcome = f" Outcome: {use.outcome}." if use.outcome else ""
            return f"{write.actor.name} ended {_grant(use, write)}.{outcome}"
        case Act.SETTLED:
            return f"{write.actor.name} settled the grant {use.id}. Outcome: {use.outcome}."
        case Act.USED:
            return f"{write.actor.name} {_done(write)} under {_grant(use, write)}."


def _done(write: Write) -> str:
    if write.operation is Operation.UPDATE:
        return f"changed {fields}" if (fields := _fields(write)) else "wrote to it"
    return "created it" if write.operation is Operation.CREATE else "deleted it"


def _grant(use: GrantUse, write: Write) -> str:
    what = "request" if use.expires is None else "grant"
    whose = "the" if use.actor == write.actor.name else f"{use.actor}'s"
    place = " on the Namespace" if use.namespaced else ""
    return f"{whose} {what} for {use.ticket}{place}"


def _fields(write: Write) -> str:
    shown = ", ".join(str(change.path) for change in write.changes[:MOST_FIELDS])
    more = len(write.changes) - MOST_FIELDS
    return f"{shown} and {more} more" if more > 0 else shown
