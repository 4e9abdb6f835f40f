"""What a ledger does not know: what was never recorded, or no longer is."""

from collections.abc import Iterator
from datetime import datetime

from correlator.finding import Hidden, Incomplete, time_as_text
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import AnyEntry, Gap, Opened, Tombstone, read_entry


def limits_of(ledger: Ledger, cluster: str, since: datetime | None) -> tuple[Incomplete, ...]:
    """Return which direct writes to *cluster* since *since* the ledger cannot tell of."""
    signed = [read_entry(row.body, row.digest) for row in ledger.signed()]
    return (*_unknown(signed, cluster), *_pruned(signed, since), *_gaps(ledger, cluster, since))


def _unknown(signed: list[AnyEntry], cluster: str) -> Iterator[Incomplete]:
    known = {each.cluster for each in signed if isinstance(each, Opened)}
    if cluster not in known:
        which = f"the cluster {cluster!r}" if cluster else "any cluster"
        others = f", only of {', '.join(sorted(known))}" if known else ""
        yield Incomplete("direct writes", f"the ledger holds no records of {which}{others}")


def _pruned(signed: list[AnyEntry], since: datetime | None) -> Iterator[Incomplete]:
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
