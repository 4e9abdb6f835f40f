"""Retention: the old beginnings of chains go, and a signed tombstone says what went.

Nothing is cut that does not verify: a tombstone over an edited record would bury the edit.

Legal holds: put and lifted by somebody, for a reason, with a signed record of each act.

The record comes first: what is in force without one, or not in force in spite of one, is found by
fsck, and mended by repeating the command.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from glasswarden.ledger.chain import Clerk
from glasswarden.ledger.errors import HoldAdded
from glasswarden.ledger.fsck.chain import ChainCheck
from glasswarden.ledger.fsck.findings import Finding
from glasswarden.ledger.fsck.trust import Testimony, Trust, heard_in
from glasswarden.ledger.ledger import Ledger, LegalHold, Row
from glasswarden.ledger.query import searchable
from glasswarden.ledger.record import Held, Kept, Tombstone


@dataclass(frozen=True, slots=True)
class Pruning:
    """What goes from one chain."""

    chain: str
    through: int
    digest: str
    count: int
    sum: str
    kept: tuple[Kept, ...]


def prune(
    ledger: Ledger, before: datetime, trust: Trust, clerk: Clerk | None
) -> Iterator[Pruning | Finding]:
    """Cut every chain's longest prefix that is older than *before*; yield what went.

    Each chain is cut in a transaction of its own, with its tombstone. Where a chain does not
    verify, what is wrong is yielded instead, and nothing is cut from it. Without a *clerk*, nothing
    is cut at all.
    """
    testimony = heard_in(ledger.signed(), trust)
    for chain in ledger.writers():
        done = _pruned(ledger, chain, before, trust, testimony, clerk)
        yield from [done] if isinstance(done, Pruning) else done
    if clerk is not None:
        _name_again(ledger, trust)


def _pruned(
    ledger: Ledger,
    chain: str,
    before: datetime,
    trust: Trust,
    testimony: Testimony,
    clerk: Clerk | None,
) -> Pruning | list[Finding]:
    """Cut one chain; return what went, or what is wrong with it."""
    claims, stone = testimony.claims.get(chain, ()), testimony.stones.get(chain)
    while True:
        # A hold that was lifted in the database alone is in force; so is one of this very moment.
        held = testimony.held.union(hold.ticket for hold in ledger.holds())
        check = ChainCheck(chain, trust, claims, stone)
        planned = _plan(check, _older(ledger, chain, before), _stays(held, testimony))
        if clerk is None or not isinstance(planned, Pruning):
            return planned
        with suppress(HoldAdded):  # by somebody, meanwhile: it is planned again
            _cut(ledger, planned, before, clerk, held)
            return planned


def _older(ledger: Ledger, chain: str, before: datetime) -> Iterator[Row]:
    for row in ledger.rows(chain):
        if row.columns.time >= before:
            return
        yield row


def _stays(held: frozenset[str], testimony: Testimony) -> Callable[[Row], bool]:
    """Return what tells whether a row must stay, however old.

    What belongs to a ticket under legal hold; the acts of holding; and tombstones in force, which
    the rest of their chains hangs on.
    """
    in_force = {stone.id for stone in testimony.stones.values()}
    tickets = frozenset(map(searchable, held))

    def stays(row: Row) -> bool:
        columns = row.columns
        return columns.ticket in tickets or columns.type == "held" or columns.id in in_force

    return stays


def _plan(
    check: ChainCheck, rows: Iterable[Row], stays: Callable[[Row], bool]
) -> Pruning | list[Finding]:
    """Return what can go of *rows*, or what is wrong with them; nothing where nothing can go."""
    total, count, kept = hashlib.sha256(), 0, []
    for row in rows:
        if found := check.see(row):
            return found
        if stays(row):
            kept.append(Kept(row.columns.sequence, row.digest))
        else:
            total.update(bytes.fromhex(row.digest))
            count += 1
    if found := check.lost():
        return found
    if not count:
        return []
    through, digest = check.reached
    return Pruning(check.chain, through, digest, count, total.hexdigest(), tuple(kept))


def _cut(
    ledger: Ledger, planned: Pruning, before: datetime, clerk: Clerk, held: frozenset[str]
) -> None:
    stone = clerk.signed(
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
    clerk.stored(stone)


def _name_again(ledger: Ledger, trust: Trust) -> None:
    """Have the next opening name the chains whose last mention went with what was cut."""
    # Where clocks differ, an opening may be old enough to go, and what it named may not.
    witnessed, testimony = ledger.witnessed(), heard_in(ledger.signed(), trust)
    for chain, place in witnessed.items():
        if place > (reach := testimony.reach(chain)):
            ledger.unwitness(chain, reach)


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
