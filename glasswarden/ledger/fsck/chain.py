"""Verification of one chain: each row, its link to the previous row, and what is missing.

A row is checked for its bytes, digest, columns and signature. A chain is checked against everything
that was claimed about it: checkpoints of other chains, tombstones, the list of chains, an earlier
run.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.fsck.findings import (
    ColumnMismatch,
    Contradicted,
    CutTail,
    DuplicatePlace,
    Edited,
    Finding,
    Forged,
    HeadMismatch,
    MissingChain,
    Removed,
    Reordered,
    Replaced,
    Unpruned,
    Unreadable,
)
from glasswarden.ledger.fsck.trust import Claim, Trust
from glasswarden.ledger.ledger import Row
from glasswarden.ledger.query import IndexedColumns, columns_of, fields_of
from glasswarden.ledger.record import (
    FORMAT,
    GENESIS,
    SIGNED,
    AnyEntry,
    Attempt,
    Closed,
    Opened,
    Record,
    Tombstone,
    is_later,
    read_entry,
)

_PLACE: Final = frozenset({"writer", "sequence"})
_COMMON: Final = IndexedColumns._fields.index("verdict")
"""How many columns there are that records of every kind and version fill."""


def faults_of(row: Row, trust: Trust) -> tuple[AnyEntry | None, list[Finding]]:
    """Return the entry in *row*, where it can be read, and what is wrong with it."""
    digest = sha256(row.body).hexdigest()
    try:
        entry = read_entry(row.body, row.digest)
    except RecordMalformed:
        return None, [_unreadable_finding(row, is_edited=digest != row.digest)]
    if (
        isinstance(entry, Attempt)
        and digest == row.digest
        and not row.signature
        and row.matches(entry)
    ):
        return entry, []
    record = Record(entry, row.body, row.digest, row.signature)
    return entry, _faults_in_order(row, record, trust, is_edited=digest != row.digest)


def _faults_in_order(row: Row, record: Record, trust: Trust, *, is_edited: bool) -> list[Finding]:
    """Return what is wrong with *row*, only the most severe: the rest follows from it."""
    entry, place = record.entry, row.columns
    differing = _differing_columns(row, record)
    if is_edited:
        columns = tuple(name for name in differing if name not in _PLACE)
        return [Edited(chain=place.writer, sequence=place.sequence, id=place.id, columns=columns)]
    if not _PLACE.isdisjoint(differing):
        belongs = f"{entry.writer}#{entry.sequence}"
        return [
            Reordered(chain=place.writer, sequence=place.sequence, id=entry.id, belongs=belongs)
        ]
    found: list[Finding] = []
    if differing:
        found.append(
            ColumnMismatch(
                chain=place.writer, sequence=place.sequence, id=entry.id, columns=differing
            )
        )
    if why := trust.find_objection(entry, row.digest, row.signature):
        found.append(Forged(chain=place.writer, sequence=place.sequence, id=entry.id, why=why))
    return found


def _differing_columns(row: Row, record: Record) -> tuple[str, ...]:
    """Return the columns of *row* that differ from its bytes."""
    said = columns_of(record.entry)
    # The meaning of the rest in a later version is not known here.
    compared = _COMMON if record.is_later else len(said)
    names = [
        name
        for name, stored, expected in list(zip(said._fields, row.columns, said, strict=True))[
            :compared
        ]
        if stored != expected
    ]
    if not record.is_later:
        if row.fields != fields_of(record.entry):
            names.append("fields")
        if row.signature and not isinstance(record.entry, SIGNED):
            names.append("signature")
    return tuple(names)


def _unreadable_finding(row: Row, *, is_edited: bool) -> Finding:
    kind = Edited if is_edited else Unreadable
    return kind(chain=row.columns.writer, sequence=row.columns.sequence, id=row.columns.id)


LIST_OF_CHAINS: Final = "the ledger's list of chains"
"""The source of claims that are not signed: the database itself."""

_UNLINKED: Final = (Edited, Reordered, Unreadable)
"""Findings after which the link to the next record cannot be checked."""


class ChainPlace(NamedTuple):
    """How far a chain was verified; no digest where that is not known yet."""

    sequence: int
    digest: str


class ChainCheck:
    """Checks the rows of one chain, in order.

    It begins at the chain's first record, behind what a tombstone removed, or at a place that was
    verified earlier: *anchor*, which is then the first row to check.
    """

    def __init__(
        self,
        chain: str,
        trust: Trust,
        claims: Sequence[Claim] = (),
        stone: Tombstone | None = None,
        anchor: ChainPlace | None = None,
    ) -> None:
        self.chain = chain
        self.sequence = anchor.sequence - 1 if anchor else 0
        """The last place that was seen."""
        self.records = 0
        self.later = 0
        """How many of them a later version of the program wrote."""

        self.is_closed = False
        self._verified = (anchor.sequence, anchor.digest) if anchor else None
        self._trust = trust
        self._stone = stone
        self._kept = {kept.sequence: kept.digest for kept in stone.kept} if stone else {}
        self._through = stone.through if stone else 0
        self._is_anchored = anchor is not None
        self._prev: str | None = None if anchor else GENESIS
        """The digest that the next record must name; none where that is unknown."""
        self._id = ""
        self._is_clean = True
        self._claims: dict[int, list[Claim]] = {}
        for claim in claims:
            self._claims.setdefault(claim.sequence, []).append(claim)

    def check_row(self, row: Row) -> list[Finding]:
        """Return what is wrong with *row*, or with what is missing before it."""
        self.records += 1
        entry, found = faults_of(row, self._trust)
        if entry is not None and not found and self._is_next(entry):
            # Nothing was found, so its columns are the same; comparing them takes time.
            self.sequence, self._id, self._prev = entry.sequence, entry.id, row.digest
            if self._is_clean:
                self._verified = (entry.sequence, row.digest)
            return found
        if entry is not None and is_later(entry):
            self.later += 1
        sequence = row.columns.sequence
        if sequence < 1:
            self._is_clean = False
            return found or [self._new_forged(row, "it precedes the beginning of its chain")]
        if sequence <= self._through:
            found += self._check_kept(row)
        else:
            if self._stone and self.sequence < self._through:
                self.sequence, self._prev = self._through, self._stone.digest
            found += self._check_place(row, entry, is_judged=not _has_unlinked(found))
        if sequence in self._claims and not found:
            found += [
                self._new_contradiction(claim, row.columns.id)
                for claim in self._claims[sequence]
                if claim.digest != row.digest
            ]
        if found:
            self._is_clean = False
        elif self._is_clean:
            self._verified = (sequence, row.digest)
        return found

    def _is_next(self, entry: AnyEntry) -> bool:
        """Return whether *entry* is an attempt and the next of its chain, as nearly all are."""
        return (
            isinstance(entry, Attempt)
            and entry.format <= FORMAT
            and entry.prev == self._prev
            and entry.sequence == self.sequence + 1
            and entry.sequence not in self._claims
            and self.sequence > self._through
            and not self.is_closed
        )

    def _check_kept(self, row: Row) -> list[Finding]:
        """Return what is wrong with a record that stayed where others were pruned."""
        sequence, record = row.columns.sequence, row.columns.id
        digest = self._kept.pop(sequence, None)
        if digest is None:
            return [Unpruned(chain=self.chain, sequence=sequence, id=record)]
        if digest != row.digest:
            by = "the tombstone"
            return [Contradicted(chain=self.chain, sequence=sequence, id=record, by=by)]
        return []

    def _check_place(self, row: Row, entry: AnyEntry | None, *, is_judged: bool) -> list[Finding]:
        """Return what is wrong between *row* and the one before, and move on to it."""
        sequence, record = row.columns.sequence, row.columns.id
        if sequence <= self.sequence:
            self._prev = None  # what follows may follow either
            return [DuplicatePlace(chain=self.chain, sequence=sequence, id=record)]
        found: list[Finding] = []
        if sequence > self.sequence + 1:
            missing, through = self.sequence + 1, sequence - 1
            found.append(Removed(chain=self.chain, sequence=missing, through=through))
        elif entry is not None and is_judged:
            found += self._check_prev(row, entry)
        if self.is_closed:
            found.append(self._new_forged(row, "it follows the end of its chain"))
        self.sequence, self._id = sequence, record
        self._prev = row.digest if is_judged else None
        self.is_closed = self.is_closed or isinstance(entry, Closed)
        return found

    def _check_prev(self, row: Row, entry: AnyEntry) -> list[Finding]:
        """Return what is wrong with the previous record that *entry* in *row* names."""
        found: list[Finding] = []
        sequence = entry.sequence
        if self._prev not in (None, entry.prev):
            if sequence == 1:
                why = "the first of a chain follows nothing, but it names a record before"
                found.append(self._new_forged(row, why))
            elif sequence == self._through + 1:
                found.append(
                    Contradicted(
                        chain=self.chain, sequence=sequence, id=entry.id, by="the tombstone"
                    )
                )
            else:
                found.append(Replaced(chain=self.chain, sequence=sequence - 1, id=self._id))
        # A kind of record that is not known here does not count: anybody can invent one.
        if sequence == 1 and not isinstance(entry, Opened):
            found.append(self._new_forged(row, "its chain does not begin with a signed opening"))
        return found

    def _new_forged(self, row: Row, why: str) -> Finding:
        place = row.columns
        return Forged(chain=self.chain, sequence=place.sequence, id=place.id, why=why)

    @property
    def verified(self) -> ChainPlace | None:
        """The last place before the first finding, for a later run to begin at."""
        return ChainPlace._make(self._verified) if self._verified else None

    @property
    def reached(self) -> ChainPlace:
        """How far the chain reaches, or where it was cut."""
        if self._stone and self.sequence <= self._through:
            return ChainPlace(self._through, self._stone.digest)
        return ChainPlace(self.sequence, self._prev or GENESIS)

    def find_lost(self) -> list[Finding]:
        """Return what a tombstone kept and is missing, once a row behind it was checked."""
        return [
            Removed(chain=self.chain, sequence=sequence, through=sequence)
            for sequence in sorted(self._kept)
        ]

    def end(self) -> list[Finding]:
        """Return what is missing, now that no row is left."""
        found = self.find_lost()
        if self._stone:
            found += [
                self._new_contradiction(claim, self._stone.id)
                for claim in self._claims.get(self._through, ())
                if claim.digest != self._stone.digest
            ]
        is_gone = not self.records and not self._stone and not self._is_anchored
        self.sequence = max(self.sequence, self._through)
        if beyond := [place for place in self._claims if place > self.sequence]:
            farthest = max(beyond)
            by = self._claims[farthest][-1].by
            if is_gone:
                found.append(MissingChain(chain=self.chain, sequence=farthest, by=by))
            else:
                cut = self.sequence + 1
                found.append(CutTail(chain=self.chain, sequence=cut, through=farthest, by=by))
        return found

    def _new_contradiction(self, claim: Claim, record: str) -> Finding:
        if claim.by == LIST_OF_CHAINS:
            why = "names another digest at this place than the record has"
            return HeadMismatch(chain=self.chain, sequence=claim.sequence, id=record, why=why)
        return Contradicted(chain=self.chain, sequence=claim.sequence, id=record, by=claim.by)


def _has_unlinked(found: Sequence[Finding]) -> bool:
    return any(isinstance(each, _UNLINKED) for each in found)
