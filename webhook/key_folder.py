"""Everything secret that the webhook needs, in one folder."""

from datetime import datetime
from pathlib import Path

from glasswarden.keys.folder import new_key, read_ring
from glasswarden.ledger.keys import make_keys
from webhook.grant_keys import PREFIX


def make_key_folder(folder: Path, now: datetime) -> None:
    """Make the keys in *folder* that are missing: the ledger's, and a first one for grants."""
    make_keys(folder, now)
    if not read_ring(folder, PREFIX):
        new_key(folder, PREFIX, now)
