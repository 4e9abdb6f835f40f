"""What others are told of a write, on the object that it was about.

Paths are told and never values: more people may read Events than the objects that they are about.
"""

from typing import Final

from glasswarden.kube.events import Event
from glasswarden.policy.breakglass.grant import Act, GrantUse
from glasswarden.policy.breakglass.moment import moment
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.operation import Operation
from glasswarden.policy.write import Write

MOST_FIELDS: Final = 6

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
