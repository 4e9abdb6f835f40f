"""Legal holds: put and lifted by somebody, for a reason, with a signed record of each act.

The record comes first: what is in force without one, or not in force in spite of one, is found by
fsck, and mended by repeating the command.
"""

from glasswarden.ledger.clerk import Clerk
from glasswarden.ledger.ledger import Ledger, LegalHold
from glasswarden.ledger.record import Held


def put_hold(ledger: Ledger, hold: LegalHold, clerk: Clerk) -> bool:
    """Keep what belongs to a ticket; tell whether that is new."""
    if _held(ledger, hold.ticket):
        return False
    _record(ledger, clerk, hold.ticket, hold.by, hold.why, in_force=True)
    ledger.hold(hold)
    return True


def lift_hold(ledger: Ledger, ticket: str, by: str, why: str, clerk: Clerk) -> bool:
    """Let what belongs to *ticket* be pruned again; tell whether it was held."""
    if not _held(ledger, ticket):
        return False
    _record(ledger, clerk, ticket, by, why, in_force=False)
    return ledger.release(ticket)


def _held(ledger: Ledger, ticket: str) -> bool:
    return any(hold.ticket == ticket for hold in ledger.holds())


def _record(
    ledger: Ledger, clerk: Clerk, ticket: str, by: str, why: str, *, in_force: bool
) -> None:
    record = clerk.signed(Held, ticket=ticket, by=by, why=why, in_force=in_force)
    ledger.append([record])
    clerk.stored(record)
