"""The ledger as it was named on the command line."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from correlator.audit.log import AuditLog
from correlator.causes import Causes, NoCauses
from glasswarden.cli.ledger.clusters import cluster_of
from glasswarden.cli.ledger.masks import masks_at
from glasswarden.ledger.address import open_ledger
from glasswarden.policy.policy import Policy


@contextmanager
def causes_from(
    address: str | None,
    keys: Path | None,
    cluster: str | None,
    policy: Policy,
    audit: AuditLog | None = None,
) -> Iterator[Causes | NoCauses]:
    """Open the ledger at *address*, if one was named; *cluster* is its name there, if known.

    Raises `LedgerError`.
    """
    if address is None:
        yield NoCauses()
        return
    with closing(open_ledger(address, create=False)) as ledger:
        name = cluster_of(ledger, cluster)
        yield Causes(ledger, name, policy, masks_at(keys, address), audit)
