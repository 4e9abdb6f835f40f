"""The keys of a ledger: one that signs checkpoints, and those that mask values."""

from dataclasses import dataclass
from pathlib import Path

from glasswarden.ledger.masking import Masks, new_masks, open_masks
from glasswarden.ledger.signing import Signer, new_signer, open_signer


@dataclass(frozen=True, slots=True)
class Keys:
    """What a writer of records needs."""

    signer: Signer
    masks: Masks


def open_keys(folder: Path) -> Keys:
    """Return the keys in *folder*, or raise `KeyUnusable`."""
    return Keys(open_signer(folder), open_masks(folder))


def new_keys(folder: Path) -> Keys:
    """Return the keys in *folder*; those that are missing are made."""
    return Keys(new_signer(folder), new_masks(folder))
