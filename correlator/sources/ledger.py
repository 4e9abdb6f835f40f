"""From a ledger to findings: its records newest first, and each object that they name, once.

What a ledger does not know: what was never recorded, or no longer is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from correlator.finding import Finding, Hidden, Incomplete, Result, join_results, time_as_text
from correlator.live.source import Kind, KindUnavailable
from correlator.sources.ledger_writes import BY_RECONCILER, DirectWrites, Rules, deletion
from correlator.still_live import Lookup
from glasswarden.kube.objects import ObjectKey, Ref
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import AnyEntry, Attempt, Gap, Opened, Tombstone, read_entry
from glasswarden.policy.policy import Policy


def limits_of(ledger: Ledger, cluster: str, since: datetime | None) -> tuple[Incomplete, ...]:
    """Return which direct writes to *cluster* since *since* the ledger cannot tell of."""
    signed = [read_entry(row.body, row.digest) for row in ledger.signed_rows()]
    return (
        *_unknown(signed, cluster),
        *_find_pruned(signed, since),
        *_gaps(ledger, cluster, since),
    )


def _unknown(signed: list[AnyEntry], cluster: str) -> Iterator[Incomplete]:
    known = {each.cluster for each in signed if isinstance(each, Opened)}
    if cluster not in known:
        which = f"the cluster {cluster!r}" if cluster else "any cluster"
        others = f", only of {', '.join(sorted(known))}" if known else ""
        yield Incomplete("direct writes", f"the ledger holds no records of {which}{others}")


def _find_pruned(signed: list[AnyEntry], since: datetime | None) -> Iterator[Incomplete]:
    stones = (each.before for each in signed if isinstance(each, Tombstone))
    end = max(filter(None, stones), default=None)
    if end is not None and (since is None or end > since):
        what = f"direct writes before {time_as_text(end)}"
        yield Incomplete(what, "their records were pruned", Hidden.NONE)


def _gaps(ledger: Ledger, cluster: str, since: datetime | None) -> Iterator[Incomplete]:
    for record in ledger.gaps(cluster):
        gap = record.entry
        if isinstance(gap, Gap) and gap.count and (since is None or gap.until >= since):
            when = f"between {time_as_text(gap.since)} and {time_as_text(gap.until)}"
            what = f"{gap.count} direct writes {when}"
            yield Incomplete(what, f"not recorded: {gap.why}", Hidden.NONE)


PAGE: Final = 500
LOOKED_FOR: Final = "direct write that still stands"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which direct writes count."""

    cluster: str
    """The name of the inspected cluster in the records."""

    policy: Policy
    masks: Masks | None = None
    since: datetime | None = None
    wants: Callable[[Ref], bool] = lambda _: True


@dataclass(slots=True)
class _Reading:
    look: Lookup
    rules: Rules
    writes: dict[ObjectKey, DirectWrites | None] = field(default_factory=dict)
    """By object; none where it is deleted, or cannot be read."""
    gone: list[Finding] = field(default_factory=list)
    unseen: dict[tuple[Kind, str], int] = field(default_factory=dict)
    """How many objects of which kind could not be read, and why."""

    def take(self, attempt: Attempt) -> None:
        """Take in the next older record."""
        place = ObjectKey(attempt.group, attempt.kind, attempt.namespace, attempt.name)
        if place not in self.writes:
            self.writes[place] = self._begin(ref_in(attempt), attempt)
        writes = self.writes[place]
        if writes is not None:
            writes.take(attempt)

    def _begin(self, ref: Ref, last: Attempt) -> DirectWrites | None:
        """Look the object up, of which *last* is the newest record."""
        try:
            live = self.look(ref)
        except KindUnavailable as error:
            place = Kind(ref.group, ref.version, ref.kind), error.incomplete.why
            self.unseen[place] = self.unseen.get(place, 0) + 1
            return None
        if live is not None:
            return DirectWrites(live, self.rules)
        if last.operation == "DELETE" and last.clause != BY_RECONCILER:
            self.gone.append(deletion(last))
        return None

    def result(self) -> Result:
        read = [writes for writes in self.writes.values() if writes is not None]
        findings = [finding for writes in read for finding in writes.findings()]
        incomplete = [each for writes in read for each in writes.incomplete]
        incomplete += [
            Incomplete(f"direct writes to {count} of {kind}", why, kinds=(kind.name,))
            for (kind, why), count in self.unseen.items()
        ]
        return Result((*findings, *self.gone), tuple(incomplete), LOOKED_FOR)


def read_ledger(ledger: Ledger, look: Lookup, asked: Asked) -> Result:
    """Return the direct writes in *ledger* that still stand; raises `LedgerError`."""
    ends: dict[str, datetime] = {}
    reading = _Reading(look, Rules(asked.policy, asked.masks, ends))
    for attempt in _find_admitted(ledger, asked):
        _note_end(attempt, ends)
        if attempt.name and asked.wants(ref_in(attempt)):
            reading.take(attempt)
    return join_results(reading.result(), Result((), limits_of(ledger, asked.cluster, asked.since)))


def ref_in(attempt: Attempt) -> Ref:
    """Return the object that *attempt* names, whichever of that name it was."""
    return Ref(attempt.group, attempt.version, attempt.kind, attempt.namespace, attempt.name)


def _note_end(attempt: Attempt, ends: dict[str, datetime]) -> None:
    """Remember when a grant ends: its newest record tells."""
    end = attempt.time if attempt.grant_act == "closed" else attempt.grant_expires
    if attempt.grant and end is not None:
        ends.setdefault(attempt.grant, end)


def _find_admitted(ledger: Ledger, asked: Asked) -> Iterator[Attempt]:
    question = Question(cluster=asked.cluster, verdict="allow", since=asked.since, limit=PAGE)
    while page := ledger.ask(question):
        yield from (record.entry for record in page if isinstance(record.entry, Attempt))
        question = replace(question, before=page[-1].entry.id)
