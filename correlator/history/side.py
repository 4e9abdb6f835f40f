"""One side of a recorded change, what was there or what was put there, and how two compare."""

from dataclasses import dataclass

import msgspec

from correlator.link.agreement import same
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.ledger.record import ChangedField, Cut


@dataclass(frozen=True, slots=True)
class Side:
    """A value as far as it was recorded."""

    value: Value = ABSENT
    masked: str = ""
    cut: Cut | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the value itself was recorded, or that there was none."""
        return not self.masked and self.cut is None


def before(change: ChangedField) -> Side:
    """Return what was there."""
    return Side(_value(change.old), change.old_masked, change.old_cut)


def after(change: ChangedField) -> Side:
    """Return what was put there."""
    return Side(_value(change.new), change.new_masked, change.new_cut)


def alike(one: Side, other: Side) -> bool | None:
    """Tell whether both are the same value; none where that cannot be told."""
    if one.is_plain and other.is_plain:
        return same(one.value, other.value)
    if one.masked and other.masked:
        same_key = one.masked.partition(":")[0] == other.masked.partition(":")[0]
        return one.masked == other.masked if same_key else None
    if one.cut is not None and other.cut is not None:
        return one.cut == other.cut
    # A value, even a large one, is not none.
    return False if ABSENT in (one.value, other.value) and one.is_plain != other.is_plain else None


def _value(value: object) -> Value:
    return ABSENT if value is msgspec.UNSET else value
