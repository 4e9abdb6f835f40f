"""Checkpoints: the signed records that begin and end a chain."""

from collections.abc import Sequence
from datetime import datetime

from glasswarden import __version__
from glasswarden.ledger.record import FORMAT, Closed, Head, Opened, new_id
from glasswarden.ledger.signing import Signer


def opening(
    cluster: str, heads: Sequence[Head], signer: Signer, now: datetime, random: bytes
) -> Opened:
    """Return the entry that a chain begins with; *heads* are the ends that it witnesses."""
    return Opened(
        format=FORMAT,
        id=new_id(now, random),
        time=now,
        cluster=cluster,
        program=f"glasswarden {__version__}",
        public_key=signer.public_key,
        heads=tuple(heads),
    )


def closing(cluster: str, signer: Signer, now: datetime, random: bytes) -> Closed:
    """Return the entry that a chain ends with."""
    return Closed(
        format=FORMAT,
        id=new_id(now, random),
        time=now,
        cluster=cluster,
        public_key=signer.public_key,
    )
