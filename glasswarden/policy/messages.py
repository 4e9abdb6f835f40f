"""What people read about a decision, rendered from its reasons: once, and after it was made.

The writer reads a denial, a warning or, under break-glass, a receipt; others read an Event on the
object. A denial names whose object it is, what was denied, where in Git to change it instead, and
what break-glass offers. An Event names paths and never values: more people may read Events than the
objects that they are about. Nothing here decides.
"""

import json
from typing import Final

from glasswarden.duration import render_duration
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change
from glasswarden.kube.engines.engine import GitLocation, Owner
from glasswarden.kube.engines.registry import title_of
from glasswarden.kube.events import Event
from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import render_time
from glasswarden.policy.breakglass.rules import Rule, describe_people, is_namespace
from glasswarden.policy.breakglass.tokens import Act, GrantUse, Stamp
from glasswarden.policy.case import Case, is_guarded
from glasswarden.policy.decision import (
    BreakGlassOption,
    Clause,
    Decision,
    Denial,
    MayRequest,
    NotCovered,
    OthersMay,
    OutsideHours,
)
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import describe_hours
from glasswarden.policy.types import Actor, Mode, Operation
from glasswarden.policy.write import Write

COMMAND: Final = "  kubectl glasswarden break "
"""How the line begins that is there to be copied."""

# kubectl knows these by their kind alone.
_SHORT: Final = frozenset({"", "apps", "batch", "autoscaling", "networking.k8s.io"})


MOST_FIELDS: Final = 6
"""More lines than these push the rest of the message off the screen."""

LONGEST_VALUE: Final = 40

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
"""As `json.dumps`, which makes an encoder for each value."""

LONGEST_LINE: Final = 240
"""The API server cuts a warning at 256 characters."""

_NO_DENIAL: Final = Denial()


def names_source(decision: Decision, case: Case) -> bool:
    """Return whether a message about *decision* names where in Git to change the object."""
    denial = decision.denial
    if denial is None or decision.unavailable or denial.forgery or denial.hold is not None:
        return False
    return is_guarded(case)


def render_denial(decision: Decision, case: Case, source: GitLocation | None = None) -> str:
    """Return why the write is denied, for the person who made it; nothing where it is not.

    *source* is where in Git to change the object instead, if that is known.
    """
    if decision.allowed:
        return ""
    if decision.unavailable:
        return "\n".join(_unrecorded_lines(decision, case))
    lines = _denial_lines(decision, case, "is refused", source)
    # A command that is cut cannot be copied; nobody bounds a denial but its readers' patience.
    return "\n".join(printable(each) if each.startswith(COMMAND) else tidy(each) for each in lines)


def render_warnings(
    decision: Decision, case: Case, source: GitLocation | None = None
) -> tuple[str, ...]:
    """Return what the writer reads about a write that is allowed, a warning a line.

    The API server drops a warning that holds a line break.
    """
    if not decision.allowed:
        return ()
    if decision.grant is not None:
        return render_receipt(decision.grant, case)
    if decision.denial is None:
        return ()
    verdict = "would be refused" if decision.mode is Mode.ENFORCE else "is recorded"
    return tuple(map(tidy, _denial_lines(decision, case, verdict, source)))


def _unrecorded_lines(decision: Decision, case: Case) -> tuple[str, str, str]:
    unrecorded = (
        f"{case.write.target}: this write cannot be recorded now, and the policy lets none through"
        f" unrecorded in mode {decision.mode}; it is refused."
    )
    return (
        unrecorded,
        "Cause: the ledger is out of reach, and its spool is full, unwritable or not set up.",
        "Try again later; whoever runs Glasswarden finds the reason in its log.",
    )


def _denial_lines(
    decision: Decision, case: Case, verdict: str, source: GitLocation | None
) -> list[str]:
    write, denial = case.write, decision.denial or _NO_DENIAL
    if denial.forgery:
        return [_forgery_line(write, denial.forgery)]
    if denial.hold is not None:
        return _hold_lines(write, denial.hold, verdict)
    lines = [f"{_claim(write, decision.clause)}; this {_act(write)} {verdict}."]
    lines += _change_lines(write, case.policy)
    if is_guarded(case):
        lines.append(_source_line(write, source))
    return [*lines, *_breakglass_lines(denial, write)]


def _forgery_line(write: Write, forgery: str) -> str:
    return f"{write.target} is not written: {forgery}. Stamps are Glasswarden's alone to write."


def _hold_lines(write: Write, grant: Stamp, verdict: str) -> list[str]:
    """Return until when and why a reconciler's deletion has to wait."""
    owner = _application(write.owner) if write.owner else "its reconciler"
    return [
        _hold_claim(write, grant),
        f"Its deletion by {owner} {verdict} while the grant lives; whoever closes it lets it pass.",
    ]


def _hold_claim(write: Write, grant: Stamp) -> str:
    on = write.glass.namespace if grant.namespace else write.glass.before
    reason, until = on.get(names.REASON), render_time(grant.expires)
    return (
        f"{write.target} is held until {until}: {grant.actor} broke the glass for {grant.ticket}"
        + (f" ({reason})" if reason else "")
        + "."
    )


def _breakglass_lines(denial: Denial, write: Write) -> list[str]:
    """Return how to write by hand after all: the last lines of a denial."""
    lines = [f"Break-glass: {denial.no_grant}."] if denial.no_grant else []
    return lines if denial.option is None else [*lines, *_option_lines(denial.option, write)]


def _option_lines(option: BreakGlassOption, write: Write) -> list[str]:
    match option:
        case MayRequest(rule):
            approval = rule.document.approval
            second = f" ({describe_people(approval)} must approve)" if approval else ""
            command = f"{COMMAND}{_request_arguments(write.target, rule)}"
            return [f"To break the glass{second}:", command]
        case OutsideHours(rule):
            return [f"Break-glass: {describe_hours(rule, write.actor)}."]
        case NotCovered(rule, reason):
            return [f"Break-glass: by rule {rule.name!r}, {reason}."]
        case OthersMay(()):
            return ["Nobody may break the glass here: the policy has no rule for it."]
        case OthersMay(rules):
            people = dict.fromkeys(describe_people(rule.document) for rule in rules)
            return [f"Who may break the glass here: {', '.join(people)}."]


def _request_arguments(ref: Ref, rule: Rule) -> str:
    """Return the arguments of the command that asks for a grant on the object."""
    options = f'--ticket TICKET --reason "REASON" --ttl {render_duration(rule.default_ttl)}'
    return f"{kubectl_name(ref)} {options}"


def kubectl_name(ref: Ref) -> str:
    """Return the object as kubectl's arguments name it."""
    kind = ref.kind.lower() if ref.group in _SHORT else f"{ref.kind.lower()}.{ref.group}"
    return f"{kind}/{ref.name} -n {ref.namespace}" if ref.namespace else f"{kind}/{ref.name}"


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


def _source_line(write: Write, source: GitLocation | None) -> str:
    if source is not None:
        path = f", path {source.path}" if source.path else ""
        revision = f" at {source.revision}" if source.revision else ""
        return f"Change it in {source.repository}{revision}{path} instead."
    if write.owner is None or write.steers:
        return "Change it in Git instead."
    return "Change it in the Git repository of that application instead."


def _engine(owner: Owner) -> str:
    return title_of(owner.engine)


def _application(owner: Owner) -> str:
    name = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    return " ".join(part for part in (_engine(owner), owner.kind, name) if part)


def _change_lines(write: Write, policy: Policy) -> list[str]:
    lines = [f"  {_change_line(write, change, policy)}" for change in write.changes[:MOST_FIELDS]]
    if len(write.changes) > MOST_FIELDS:
        lines.append(f"  … and {len(write.changes) - MOST_FIELDS} more")
    return lines


def _change_line(write: Write, change: Change, policy: Policy) -> str:
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


def render_receipt(use: GrantUse, case: Case) -> tuple[str, ...]:
    """Return what *use* means for the person, a line each; nothing where it is plain.

    As warnings: kubectl shows nothing else about a write that is allowed.
    """
    return tuple(map(tidy, _receipt_lines(use, case)))


def _receipt_lines(use: GrantUse, case: Case) -> tuple[str, ...]:
    target = case.write.target
    where = f"all in {target}" if is_namespace(target) else str(target)
    match use.act:
        case Act.ISSUED | Act.APPROVED | Act.EXTENDED:
            until = f"until {render_time(use.expires)} ({use.ticket}, grant {use.id})"
            return (f"{use.actor} may write to {where} {until}.",)
        case Act.REQUESTED:
            until, approvers = render_time(use.expires), _approvers(use, case.policy)
            return (
                f"This waits until {until} for {approvers} to approve:",
                f"  kubectl annotate {kubectl_name(target)} {names.APPROVE}={use.id}",
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
    return describe_people(approval) if approval else "somebody"


_REASONS: Final = {
    Act.REQUESTED: "BreakGlassRequested",
    Act.APPROVED: "BreakGlassApproved",
    Act.ISSUED: "BreakGlassGranted",
    Act.EXTENDED: "BreakGlassExtended",
    Act.USED: "BreakGlassUsed",
    Act.CLOSED: "BreakGlassClosed",
    Act.SETTLED: "BreakGlassSettled",
}


def render_event(decision: Decision, case: Case) -> Event | None:
    """Return the Event about a write; none of a dry run, and of what is all in order."""
    write, use = case.write, decision.grant
    if write.dry_run or not write.target.name:
        return None
    if not decision.allowed:
        reason, note = _denial_reason(decision, write), _denial_note(decision, case)
        return Event(write.target, reason, _action(write), note, warning=True)
    if use is None:
        return None
    return Event(write.target, _REASONS[use.act], _action(write), _grant_note(use, write))


def _action(write: Write) -> str:
    return "Scale" if write.subresource == "scale" else str(write.operation).title()


def _denial_reason(decision: Decision, write: Write) -> str:
    if decision.clause is Clause.HELD:
        return "DeletionHeld"
    asked = write.glass.before.texts != write.glass.after.texts
    return "BreakGlassRefused" if asked else "WriteRefused"


def _denial_note(decision: Decision, case: Case) -> str:
    """Return the denial without the fields' values, which only the writer reads."""
    write, actor = case.write, case.write.actor
    claim, obstacle = _claim_and_obstacle(decision, case)
    if obstacle and _denial_reason(decision, write) == "BreakGlassRefused":
        return f"{actor.name} asked and was refused: {obstacle}"
    note = f"{actor.name} was refused {_attempt(write)}: {claim}"
    if not obstacle:
        return note
    return f"{note} {obstacle}" if decision.unavailable else f"{note} Break-glass: {obstacle}"


def _claim_and_obstacle(decision: Decision, case: Case) -> tuple[str, str]:
    """Return why GitOps has a say in the write, and why no grant helps or what else prevents it."""
    write, denial = case.write, decision.denial or _NO_DENIAL
    if decision.unavailable:
        claim, cause, _ = _unrecorded_lines(decision, case)
        return claim, cause
    if denial.forgery:
        return tidy(_forgery_line(write, denial.forgery)), ""
    if denial.hold is not None:
        return tidy(_hold_claim(write, denial.hold)), ""
    claim = tidy(f"{_claim(write, decision.clause)}.")
    return claim, tidy(f"{denial.no_grant}.") if denial.no_grant else ""


def _attempt(write: Write) -> str:
    if write.operation is Operation.UPDATE:
        return f"to change {_fields(write) or 'break-glass annotations'}"
    return {Operation.CREATE: "to create it", Operation.DELETE: "to delete it"}.get(
        write.operation, "to connect to it"
    )


def _grant_note(use: GrantUse, write: Write) -> str:
    where = "all in it" if is_namespace(write.target) else "it"
    about, until = f"for {use.ticket}: {use.reason}", render_time(use.expires)
    match use.act:
        case Act.ISSUED | Act.EXTENDED:
            with_it = f" Changed in the same write: {fields}." if (fields := _fields(write)) else ""
            return f"{use.actor} may write to {where} until {until}, {about}.{with_it}"
        case Act.APPROVED:
            approved = f"until {until}, approved by {use.approver}"
            return f"{use.actor} may write to {where} {approved}, {about}."
        case Act.REQUESTED:
            deadline = f"Somebody else can approve it until {until}."
            return f"{use.actor} asks to write to {where}, {about}. {deadline}"
        case Act.CLOSED:
            outcome = f" Outcome: {use.outcome}." if use.outcome else ""
            return f"{write.actor.name} ended {_grant_name(use, write.actor)}.{outcome}"
        case Act.SETTLED:
            return f"{write.actor.name} settled the grant {use.id}. Outcome: {use.outcome}."
        case Act.USED:
            grant = _grant_name(use, write.actor)
            return f"{write.actor.name} {_object_act_text(write)} under {grant}."


def _object_act_text(write: Write) -> str:
    if write.operation is Operation.UPDATE:
        return f"changed {fields}" if (fields := _fields(write)) else "wrote to it"
    return "created it" if write.operation is Operation.CREATE else "deleted it"


def _grant_name(use: GrantUse, actor: Actor) -> str:
    what = "request" if use.expires is None else "grant"
    whose = "the" if use.actor == actor.name else f"{use.actor}'s"
    place = " on the Namespace" if use.namespaced else ""
    return f"{whose} {what} for {use.ticket}{place}"


def _fields(write: Write) -> str:
    listed = ", ".join(str(change.path) for change in write.changes[:MOST_FIELDS])
    more = len(write.changes) - MOST_FIELDS
    return f"{listed} and {more} more" if more > 0 else listed
