"""The keys that hidden values were masked with, where they are at hand."""

from pathlib import Path

from glasswarden.cli.ledger.options import sentences
from glasswarden.ledger.address import is_postgres, keys_beside
from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.mask_keys import open_masks
from glasswarden.ledger.masking import Masks


def masks_at(keys: Path | None, address: str) -> Masks | None:
    """Return what hidden values can be compared with; none where nobody named any.

    A folder that was named and has no such keys ends the command: to go on without them would call
    unknown what the person thinks is compared.
    """
    if keys is not None:
        with sentences():
            return open_masks(keys)
    if is_postgres(address):
        return None
    try:
        with sentences():
            beside = keys_beside(address)
        return open_masks(beside)
    except KeyUnusable:
        return None
