"""One run of fsck over a ledger, and the state that it keeps for the next run.

The state holds how far each chain was verified, and whose keys signed. Its file belongs to the
verifier: whoever can write to the ledger should not be able to write to it.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.fsck.chain import LIST_OF_CHAINS, ChainCheck, ChainPlace
from glasswarden.ledger.fsck.findings import (
    Contradicted,
    Finding,
    HeadMismatch,
    HoldMismatch,
    Removed,
)
from glasswarden.ledger.fsck.trust import Claim, Testimony, Trust, collect_testimony
from glasswarden.ledger.ledger import Ledger, Row
from glasswarden.ledger.record import Head

LAST_RUN: Final = "the last run of fsck"
TICK: Final = 2048
"""After how many records the progress is reported."""


@dataclass(slots=True)
class Tally:
    """What a run has seen so far."""

    records: int = 0
    chains: int = 0
    done: int = 0
    """How many of the chains were read to their end."""

    closed: int = 0
    """How many of them end with a signed closing; the others run still, or were killed."""

    later: int = 0
    """How many records a later version wrote: what they mean is not verified, their place is."""

    keys: frozenset[str] = frozenset()
    places: dict[str, ChainPlace] = field(default_factory=dict)
    """How far each chain was verified."""


class Fsck:
    """One run over *ledger*.

    It reads all of it, what is new since *places*, or what is younger than *since*. Memory grows
    with the number of chains, not with that of records.
    """

    def __init__(
        self,
        ledger: Ledger,
        trust: Trust,
        places: Mapping[str, ChainPlace] | None = None,
        since: datetime | None = None,
        tick: Callable[[Tally], None] = lambda _: None,
    ) -> None:
        self.tally = Tally(places=dict(places or {}))
        self.testimony = Testimony()
        self._ledger = ledger
        self._trust = trust
        self._since = since
        self._tick = tick

    def find_faults(self) -> Iterator[Finding]:
        """Yield what is wrong, chain by chain."""
        # Before the signed records: they cover what the list says at this time.
        heads = {head.writer: head for head in self._ledger.heads()}
        witnessed = self._ledger.witnessed_places()
        self.testimony = collect_testimony(self._ledger.signed_rows(), self._trust)
        self.tally.keys = frozenset(self.testimony.keys)
        anchors = self._anchors_of(heads)
        chains = {*self._ledger.writers(), *heads, *self.testimony.claims, *anchors}
        self.tally.chains = len(chains)
        ends: dict[str, int] = {}
        for chain in sorted(chains):
            check = self._new_check(chain, heads.get(chain), anchors.get(chain))
            yield from self._read(check, anchors.get(chain))
            if check.records and check.sequence > (heads[chain].sequence if chain in heads else 0):
                ends[chain] = check.sequence
        yield from self._check_list(ends)
        yield from self._check_witnessed(witnessed)
        yield from self._check_holds()

    def _anchors_of(self, heads: Mapping[str, Head]) -> dict[str, ChainPlace]:
        """Return where to begin with the chains that are not read from their beginning."""
        if self._since is None:
            return {
                chain: place
                for chain, place in self.tally.places.items()
                if not self._is_cut(chain, place.sequence)
            }
        anchors = {chain: ChainPlace(head.sequence, head.digest) for chain, head in heads.items()}
        for row in self._ledger.rows_since(self._since):
            columns = row.columns
            chain, sequence = columns.writer, columns.sequence
            if chain not in anchors or sequence <= anchors[chain].sequence:
                anchors[chain] = ChainPlace(sequence - 1, "")
        return {
            chain: place
            for chain, place in anchors.items()
            if place.sequence > 0 and not self._is_cut(chain, place.sequence)
        }

    def _is_cut(self, chain: str, sequence: int) -> bool:
        stone = self.testimony.stones.get(chain)
        return stone is not None and sequence <= stone.through

    def _new_check(self, chain: str, head: Head | None, anchor: ChainPlace | None) -> ChainCheck:
        claims = list(self.testimony.claims.get(chain, ()))
        if head is not None:
            claims.insert(0, Claim(head.sequence, head.digest, LIST_OF_CHAINS))
        if anchor is not None and anchor.digest and self._since is None:
            claims.insert(0, Claim(anchor.sequence, anchor.digest, LAST_RUN))
        stone = None if anchor else self.testimony.stones.get(chain)
        return ChainCheck(chain, self._trust, claims, stone, anchor)

    def _read(self, check: ChainCheck, anchor: ChainPlace | None) -> Iterator[Finding]:
        """Yield what is wrong with one chain."""
        before = anchor.sequence - 1 if anchor else None
        if before is not None:
            yield from self._check_earlier(check.chain, before)
        seen, tally = self.tally.records, self.tally
        for row in self._ledger.rows(check.chain, before):
            if found := check.check_row(row):
                yield from found
            if check.records % TICK == 0:
                tally.records = seen + check.records
                self._remember_place(check)
                self._tick(tally)
        yield from check.end()
        tally.records = seen + check.records
        tally.closed += check.is_closed
        tally.later += check.later
        tally.done += 1
        self._remember_place(check)
        self._tick(tally)

    def _remember_place(self, check: ChainCheck) -> None:
        place = check.verified
        if place is not None and place.digest:
            self.tally.places[check.chain] = place

    def _check_earlier(self, chain: str, before: int) -> Iterator[Finding]:
        """Yield what is wrong with places that are not read again, though a claim names them.

        Also with places that no chain has (below 1), which were never read.
        """
        for misplaced in self._ledger.rows(chain, through=min(before, 0)):
            yield from ChainCheck(chain, self._trust).check_row(misplaced)
        for claim in self.testimony.claims.get(chain, ()):
            if claim.sequence > before or self._is_cut(chain, claim.sequence):
                continue
            row = self._row_at(chain, claim.sequence)
            if row is None:
                yield Removed(chain=chain, sequence=claim.sequence, through=claim.sequence)
            elif row.digest != claim.digest:
                record = row.columns.id
                yield Contradicted(chain=chain, sequence=claim.sequence, id=record, by=claim.by)

    def _row_at(self, chain: str, sequence: int) -> Row | None:
        return next(self._ledger.rows(chain, sequence - 1, sequence), None)

    def _check_list(self, ends: Mapping[str, int]) -> Iterator[Finding]:
        """Yield the chains that continue behind the end in the list of chains.

        The list is read again: a chain that is being written to has moved since.
        """
        listed = {head.writer: head.sequence for head in self._ledger.heads()} if ends else {}
        for chain, end in ends.items():
            if chain not in listed:
                yield HeadMismatch(chain=chain, sequence=end, why="does not have this chain")
            elif listed[chain] < end:
                why = f"ends this chain at {listed[chain]}, but it goes on to {end}"
                yield HeadMismatch(chain=chain, sequence=end, why=why)

    def _check_witnessed(self, witnessed: Mapping[str, int]) -> Iterator[Finding]:
        """Yield the chains that the next opening will not name, although none has named them yet.

        Such a chain could be removed later without a trace.
        """
        for chain, place in sorted(witnessed.items()):
            if place > self.testimony.reach_of(chain):
                why = f"says that an opening named this chain at {place}, but no trusted one did"
                yield HeadMismatch(chain=chain, sequence=place, why=why)

    def _check_holds(self) -> Iterator[Finding]:
        """Yield where the legal holds in force are not those that were recorded."""
        in_force = {hold.ticket for hold in self._ledger.holds()}
        recorded = self.testimony.held
        for ticket in sorted(in_force - recorded):
            yield HoldMismatch(ticket=ticket, why="is in force, but no signed record says so")
        for ticket in sorted(recorded - in_force):
            yield HoldMismatch(ticket=ticket, why="is recorded, but was lifted without a record")


class StateUnusable(LedgerError):
    """The state of the last run cannot be read or written; correct the path, or remove the file."""


@dataclass(frozen=True, slots=True)
class State:
    """The progress of the last run."""

    places: Mapping[str, ChainPlace] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    """The keys that were found: on the next run, no other key is trusted."""


def read_state(file: Path) -> State:
    """Return the state in *file*; an empty one where there is none yet."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=State)
    except FileNotFoundError:
        return State()
    except (OSError, msgspec.MsgspecError) as error:
        raise StateUnusable(f"{file}: {error}") from error


def write_state(file: Path, state: State) -> None:
    """Write *state* to *file*; on an error the file keeps its content."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        draft.write_bytes(msgspec.json.encode(state, order="sorted") + b"\n")
        draft.replace(file)
    except OSError as error:
        raise StateUnusable(f"{file}: {error}") from error
