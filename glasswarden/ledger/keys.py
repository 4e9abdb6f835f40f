"""The keys of a ledger: one that signs checkpoints, and those that mask values."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from glasswarden.ledger.mask_keys import make_mask, open_masks
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.signing import Signer, make_signer, open_signer


@dataclass(frozen=True, slots=True)
class Keys:
    """What a writer of records needs."""

    signer: Signer
    masks: Masks


def open_keys(folder: Path) -> Keys:
    """Return the keys in *folder*, or raise `KeyUnusable`."""
    return Keys(open_signer(folder), open_masks(folder))


def make_keys(folder: Path, now: datetime) -> None:
    """Make those keys in *folder* that are missing. One process does this, before others read."""
    make_signer(folder)
    make_mask(folder, now)
