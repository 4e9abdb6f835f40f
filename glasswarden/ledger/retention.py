"""Retention: removes the oldest records of each chain, except those under a legal hold.

A signed tombstone describes what was removed. A chain that does not verify is not pruned, because a
tombstone over an edited record would hide the edit. Placing and releasing a legal hold stores a
signed record first: a hold that is in force without a record, or recorded without being in force,
is found by fsck and corrected by repeating the command.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from glasswarden.ledger.chain import MaintenanceWriter
from glasswarden.ledger.errors import HoldAdded
from glasswarden.ledger.fsck.chain import ChainCheck
from glasswarden.ledger.fsck.findings import Finding
from glasswarden.ledger.fsck.trust import Testimony, Trust, collect_testimony
from glasswarden.ledger.ledger import Ledger, LegalHold, Row
from glasswarden.ledger.query import searchable_form
from glasswarden.ledger.record import Held, Kept, Tombstone


@dataclass(frozen=True, slots=True)
class Pruning:
    """What is removed from one chain."""

    chain: str
    through: int
    digest: str
    count: int
    sum: str
    kept: tuple[Kept, ...]


def prune(
    ledger: Ledger, before: datetime, trust: Trust, maintenance: MaintenanceWriter | None
) -> Iterator[Pruning | Finding]:
    """Remove every chain's longest prefix that is older than *before*; yield what was removed.

    Each chain is pruned in its own transaction, with its tombstone. If a chain does not verify,
    its findings are yielded instead, and nothing is removed from it. Without a *maintenance*
    writer nothing is removed at all.
    """
    testimony = collect_testimony(ledger.signed_rows(), trust)
    for chain in ledger.writers():
        done = _prune_chain(ledger, chain, before, trust, testimony, maintenance)
        yield from [done] if isinstance(done, Pruning) else done
    if maintenance is not None:
        _name_again(ledger, trust)


def _prune_chain(
    ledger: Ledger,
    chain: str,
    before: datetime,
    trust: Trust,
    testimony: Testimony,
    maintenance: MaintenanceWriter | None,
) -> Pruning | list[Finding]:
    """Prune one chain; return what was removed, or what is wrong with it."""
    claims, stone = testimony.claims.get(chain, ()), testimony.stones.get(chain)
    while True:
        # A hold that was released in the database alone is still in force; so is a new one.
        held = testimony.held.union(hold.ticket for hold in ledger.holds())
        check = ChainCheck(chain, trust, claims, stone)
        planned = _plan(check, _older_rows(ledger, chain, before), _new_keep_rule(held, testimony))
        if maintenance is None or not isinstance(planned, Pruning):
            return planned
        with suppress(HoldAdded):  # meanwhile: plan again
            _cut(ledger, planned, before, maintenance, held)
            return planned


def _older_rows(ledger: Ledger, chain: str, before: datetime) -> Iterator[Row]:
    for row in ledger.rows(chain):
        if row.columns.time >= before:
            return
        yield row


def _new_keep_rule(held: frozenset[str], testimony: Testimony) -> Callable[[Row], bool]:
    """Return the rule for rows that are kept, however old.

    These are the records of a ticket under a legal hold, the records of the holds, and tombstones
    in force, which the rest of their chains depends on.
    """
    in_force = {stone.id for stone in testimony.stones.values()}
    tickets = frozenset(map(searchable_form, held))

    def stays(row: Row) -> bool:
        columns = row.columns
        return columns.ticket in tickets or columns.type == "held" or columns.id in in_force

    return stays


def _plan(
    check: ChainCheck, rows: Iterable[Row], stays: Callable[[Row], bool]
) -> Pruning | list[Finding]:
    """Return what can be removed of *rows*, or what is wrong with them; empty if nothing can."""
    total, count, kept = hashlib.sha256(), 0, []
    for row in rows:
        if found := check.check_row(row):
            return found
        if stays(row):
            kept.append(Kept(row.columns.sequence, row.digest))
        else:
            total.update(bytes.fromhex(row.digest))
            count += 1
    if found := check.find_lost():
        return found
    if not count:
        return []
    through, digest = check.reached
    return Pruning(check.chain, through, digest, count, total.hexdigest(), tuple(kept))


def _cut(
    ledger: Ledger,
    planned: Pruning,
    before: datetime,
    maintenance: MaintenanceWriter,
    held: frozenset[str],
) -> None:
    stone = maintenance.sign_act(
        Tombstone,
        chain=planned.chain,
        through=planned.through,
        digest=planned.digest,
        count=planned.count,
        sum=planned.sum,
        kept=planned.kept,
        before=before,
    )
    kept = [kept.sequence for kept in planned.kept]
    ledger.remove(planned.chain, planned.through, kept, stone, held=held)
    maintenance.advance(stone)


def _name_again(ledger: Ledger, trust: Trust) -> None:
    """Have the next opening name the chains whose last mention was removed."""
    # Where clocks differ, an opening may be old enough to be removed, and what it named not.
    witnessed, testimony = ledger.witnessed_places(), collect_testimony(ledger.signed_rows(), trust)
    for chain, place in witnessed.items():
        if place > (reach := testimony.reach_of(chain)):
            ledger.unwitness(chain, reach)


def place_hold(ledger: Ledger, hold: LegalHold, maintenance: MaintenanceWriter) -> bool:
    """Place a legal hold on a ticket; return whether it is new."""
    if _is_held(ledger, hold.ticket):
        return False
    _record_hold(ledger, maintenance, hold.ticket, hold.by, hold.why, in_force=True)
    ledger.hold(hold)
    return True


def release_hold(
    ledger: Ledger, ticket: str, by: str, why: str, maintenance: MaintenanceWriter
) -> bool:
    """Release the legal hold on *ticket*; return whether there was one."""
    if not _is_held(ledger, ticket):
        return False
    _record_hold(ledger, maintenance, ticket, by, why, in_force=False)
    return ledger.release(ticket)


def _is_held(ledger: Ledger, ticket: str) -> bool:
    return any(hold.ticket == ticket for hold in ledger.holds())


def _record_hold(
    ledger: Ledger,
    maintenance: MaintenanceWriter,
    ticket: str,
    by: str,
    why: str,
    *,
    in_force: bool,
) -> None:
    record = maintenance.sign_act(Held, ticket=ticket, by=by, why=why, in_force=in_force)
    ledger.append([record])
    maintenance.advance(record)
