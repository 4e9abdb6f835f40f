"""The ledger as it was named on the command line."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from correlator.audit.log import AuditLog
from correlator.causes import Causes, NoCauses
from glasswarden.cli.drift.losses import Losses
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
    audit: AuditLog | None,
    losses: Losses,
) -> Iterator[Causes | NoCauses]:
    """Open the ledger at *address*, if one was named; *cluster* is its name there, if known.

    One that cannot be opened is among *losses* then, and nothing is put down to anybody.
    """
    with ExitStack() as opened:
        causes: Causes | NoCauses = NoCauses()
        if address is not None:
            masks = masks_at(keys, address)
            with losses.part("the ledger", is_source=False):
                ledger = opened.enter_context(closing(open_ledger(address, create=False)))
                causes = Causes(ledger, cluster_of(ledger, cluster), policy, masks, audit)
        yield causes
