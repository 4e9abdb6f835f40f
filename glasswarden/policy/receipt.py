"""What a person reads after they broke the glass, as warnings: plain kubectl shows nothing else."""

from glasswarden.policy.advice import resource
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.grant import Act, GrantUse
from glasswarden.policy.breakglass.moment import moment
from glasswarden.policy.breakglass.rules import is_namespace, people_of
from glasswarden.policy.denial import tidy
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write


def receipt(use: GrantUse, write: Write, policy: Policy) -> tuple[str, ...]:
    """Return what *use* means for the person, a line each; nothing where it is plain."""
    return tuple(map(tidy, _lines(use, write, policy)))


def _lines(use: GrantUse, write: Write, policy: Policy) -> tuple[str, ...]:
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
