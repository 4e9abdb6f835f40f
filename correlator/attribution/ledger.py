"""What attribution reads from a ledger: its limits, and the history of each object."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from correlator.attribution.context import Knowledge, Unseen
from glasswarden.kube.objects import Ref
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import AnyEntry, Attempt, Gap, Opened, Tombstone, read_entry
from glasswarden.ledger.writes import find_attempts


def clusters_in(ledger: Ledger) -> list[str]:
    """Return the clusters that *ledger* has records of, sorted."""
    # Commands that act on the ledger itself begin chains of no cluster.
    begun = {entry.cluster for entry in _signed_entries(ledger) if isinstance(entry, Opened)}
    return sorted(begun - {""})


def knowledge_of(ledger: Ledger, cluster: str) -> Knowledge:
    """Return what *ledger* itself tells about *cluster*."""
    signed = _signed_entries(ledger)
    begun = [each.time for each in signed if isinstance(each, Opened) and each.cluster == cluster]
    pruned = [each.before for each in signed if isinstance(each, Tombstone) and each.before]
    gaps = (record.entry for record in ledger.gaps(cluster))
    return Knowledge(
        # A chain that was cut has lost its beginning, and what is left of it may be all there is.
        min((*begun, *pruned), default=None),
        max(pruned, default=None),
        unseen=tuple(_unseen_of(gap) for gap in gaps if isinstance(gap, Gap) and gap.count),
    )


def _signed_entries(ledger: Ledger) -> list[AnyEntry]:
    """Return what is signed: the beginnings of chains, and what was done to the ledger."""
    return [read_entry(row.body, row.digest) for row in ledger.signed_rows()]


def _unseen_of(gap: Gap) -> Unseen:
    return Unseen(gap.since, gap.until, f"writes went unrecorded ({gap.why})")


FIRST_PAGE: Final = 8
"""Records that are read at first: most drift is a recent write's."""

GROWTH: Final = 4


@dataclass(frozen=True, slots=True)
class Histories:
    """What was attempted on the objects of one cluster."""

    ledger: Ledger
    cluster: str

    def __call__(self, refs: Sequence[Ref]) -> list[Iterator[Attempt]]:
        """Return, for each of *refs*, what was attempted on objects of that name, newest first."""
        return [self._of(ref) for ref in refs]

    def _of(self, ref: Ref) -> Iterator[Attempt]:
        question = Question(
            cluster=self.cluster,
            group=ref.group,
            kind=ref.kind,
            namespace=ref.namespace,
            name=ref.name,
            limit=FIRST_PAGE,
        )
        return find_attempts(self.ledger, question, GROWTH)
