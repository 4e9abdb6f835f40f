"""Whether a recorded change set what stands there now.

A record holds a value plainly, masked or cut: what can be compared is, and what cannot is said to
be untold rather than guessed.
"""

import hashlib
from enum import StrEnum

import msgspec

from glasswarden.kube.apply import ChangeMismatch, apply_changes
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.diff import Change
from glasswarden.kube.equality import identical
from glasswarden.kube.lookup import value_after
from glasswarden.kube.paths import Path, Step, parse_path, path_of
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import ChangedField, Cut

_encode = msgspec.json.Encoder(order="sorted").encode


class Agreement(StrEnum):
    """How a change relates to the value of a field."""

    ELSEWHERE = "elsewhere"
    WHOLE = "whole"
    """It set the field to that value."""

    PART = "part"
    """It set something inside the field to what stands there."""

    OTHER = "other"
    """It set the field, or something inside, to another value."""

    UNTOLD = "untold"
    """It set the field, but to what cannot be compared."""


def agreement(change: ChangedField, path: Path, value: Value, masks: Masks | None) -> Agreement:
    """Return how *change* relates to *value* at *path*."""
    changed, asked = parse_path(change.path).steps, path.steps
    if asked[: len(changed)] == changed:
        return _from_above(change, asked[len(changed) :], value, masks)
    if changed[: len(asked)] == asked:
        inside = value_after(value, changed[len(asked) :])
        found = _from_above(change, (), inside, masks)
        return Agreement.PART if found is Agreement.WHOLE else found
    return Agreement.ELSEWHERE


def undone(change: ChangedField, path: Path, value: Value) -> Value:
    """Return *value* at *path* as it was before *change* to a part of it, as far as told."""
    if change.old_masked or change.old_cut is not None:
        return value
    rest = path_of(*parse_path(change.path).steps[len(path.steps) :])
    before = ABSENT if change.old is msgspec.UNSET else change.old
    try:
        return apply_changes(value, [Change(rest, value_after(value, rest.steps), before)])
    except ChangeMismatch:
        return value


def same(one: Value, other: Value) -> bool:
    """Tell whether the two are the same value, or both none."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return identical(one, other)


def _from_above(
    change: ChangedField, rest: tuple[Step, ...], value: Value, masks: Masks | None
) -> Agreement:
    """Return how *change*, made where *rest* begins, relates to *value* where it ends."""
    if change.new_masked:
        return _masked(change, rest, value, masks)
    if change.new_cut is not None:
        return _cut(change.new_cut, rest, value)
    new = ABSENT if change.new is msgspec.UNSET else change.new
    return _told(same(value_after(new, rest), value))


def _masked(
    change: ChangedField, rest: tuple[Step, ...], value: Value, masks: Masks | None
) -> Agreement:
    if value is ABSENT and not rest:
        return Agreement.OTHER
    if rest or masks is None:
        return Agreement.UNTOLD
    matches = masks.matches(change.new_masked, change.path, value)
    return Agreement.UNTOLD if matches is None else _told(matches)


def _cut(cut: Cut, rest: tuple[Step, ...], value: Value) -> Agreement:
    if rest:
        return Agreement.UNTOLD
    if value is ABSENT:
        return Agreement.OTHER
    encoded = _encode(value)
    alike = cut.length == len(encoded) and cut.sha256 == hashlib.sha256(encoded).hexdigest()
    return _told(alike)


def _told(equal: bool) -> Agreement:  # noqa: FBT001 - the only thing it is about
    return Agreement.WHOLE if equal else Agreement.OTHER
