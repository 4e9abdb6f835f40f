"""Which of a ledger's clusters is meant."""

import click

from correlator.link.knowledge import clusters_in
from glasswarden.ledger.ledger import Ledger


def cluster_of(ledger: Ledger, named: str | None) -> str:
    """Return the cluster that was *named*, or the only one: another one's name would be wrong."""
    if named:
        return named
    known = clusters_in(ledger)
    if len(known) > 1:
        raise click.UsageError(f"name one of the clusters with --cluster: {', '.join(known)}")
    return next(iter(known), "")
