"""Whether what was not seen is gone, or was only not looked at. Pure."""

from collections.abc import Iterable

from correlator.finding import Class, Hidden, Incomplete
from glasswarden.ledger.history.episode import Sighting


def is_doubted(sighting: Sighting, incomplete: Iterable[Incomplete]) -> bool:
    """Tell whether *sighting* may still hold: something of *incomplete* may hide it."""
    return any(_hides(each, sighting) for each in incomplete)


def _hides(incomplete: Incomplete, sighting: Sighting) -> bool:
    if incomplete.kinds and sighting.kind not in incomplete.kinds:
        return False
    match incomplete.hides:
        case Hidden.ORPHANS:
            return sighting.class_ == Class.ORPHAN
        case Hidden.ADDITIONS:
            return not sighting.declared
        case Hidden.NONE:
            return False
        case Hidden.ANY:
            return True
