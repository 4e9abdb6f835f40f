"""The keys of a ledger: one that signs checkpoints, and those that mask values."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from glasswarden.keys.folder import KeysUnreadable, new_key, read_ring
from glasswarden.ledger.chain import Signer, make_signer, open_signer
from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.masking import Masks

PREFIX: Final = "ledger-mask"
"""The prefix of the keys' files; an old key is kept as long as records are masked with it."""


def open_masks(folder: Path) -> Masks:
    """Return the masking keys in *folder*; raise `KeyUnusable` where there are none."""
    try:
        ring = read_ring(folder, PREFIX)
    except KeysUnreadable as error:
        raise KeyUnusable(str(error)) from error
    if not ring:
        raise KeyUnusable(f"{folder} holds no key {PREFIX}-TIME.key")
    return Masks(ring)


def make_mask(folder: Path, now: datetime) -> None:
    """Create a masking key in *folder* that is active from *now* on, if there is none."""
    try:
        if not read_ring(folder, PREFIX):
            new_key(folder, PREFIX, now)
    except (OSError, KeysUnreadable) as error:
        raise KeyUnusable(f"no key could be made in {folder}: {error}") from error


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a process that writes records."""

    signer: Signer
    masks: Masks


def open_keys(folder: Path) -> Keys:
    """Return the keys in *folder*, or raise `KeyUnusable`."""
    return Keys(open_signer(folder), open_masks(folder))


def make_keys(folder: Path, now: datetime) -> None:
    """Create the missing keys in *folder*. One process does this, before others read."""
    make_signer(folder)
    make_mask(folder, now)
