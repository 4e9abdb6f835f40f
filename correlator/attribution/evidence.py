"""Evidence for and against a record: its values, and the managedFields of the live object.

A record holds a value as it is, masked or shortened. What can be compared is compared; for the rest
the answer is `UNKNOWN`, never a guess.

managedFields are hints, because a client can clear them. The time of an entry changes with writes
of its own manager only, and an entry that loses a field to another manager gets it back only by a
write of its own. So an entry that has held the field since the second of the record was the last to
set it. If its time is later, or if it holds nothing because the field was removed, the other
entries decide: if a record exists for each of them that wrote since, nobody can have changed the
field and restored it without a record. One case remains: a manager that lost everything its entry
held, and with it the entry. Only the generation of the object still counts such writes, and only
writes to its spec.

If the entry of the record does not hold the field either, and no generation is counted, there is no
evidence: a removed field may have been restored and removed again, and an owner that a grant forces
to keep a field takes it over from its manager.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from correlator.attribution.context import SCALE, Drifted
from glasswarden.kube.compare import ABSENT, Value, value_after
from glasswarden.kube.diff import Change
from glasswarden.kube.equality import is_identical
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.patch import ChangeMismatch, apply_changes
from glasswarden.kube.paths import REPLICAS, ROOT, Key, Path, Step, parse_path, path_of
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField, Cut

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

    UNKNOWN = "unknown"
    """It set the field, but to a value that cannot be compared."""


def compare_change(
    change: ChangedField, path: Path, value: Value, masks: Masks | None
) -> Agreement:
    """Return how *change* relates to *value* at *path*."""
    changed, asked = parse_path(change.path).steps, path.steps
    if asked[: len(changed)] == changed:
        return _compare_containing(change, asked[len(changed) :], value, masks)
    if changed[: len(asked)] == asked:
        inside = value_after(value, changed[len(asked) :])
        found = _compare_containing(change, (), inside, masks)
        return Agreement.PART if found is Agreement.WHOLE else found
    return Agreement.ELSEWHERE


def value_before_change(change: ChangedField, path: Path, value: Value) -> Value:
    """Return *value* at *path* as it was before *change* to a part of it, as far as told."""
    if change.old_masked or change.old_cut is not None:
        return value
    rest = path_of(*parse_path(change.path).steps[len(path.steps) :])
    before = ABSENT if change.old is msgspec.UNSET else change.old
    try:
        return apply_changes(value, [Change(rest, value_after(value, rest.steps), before)])
    except ChangeMismatch:
        return value


def is_same_value(one: Value, other: Value) -> bool:
    """Return whether the two are the same value, or both none."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return is_identical(one, other)


def _compare_containing(
    change: ChangedField, rest: tuple[Step, ...], value: Value, masks: Masks | None
) -> Agreement:
    """Return how *change*, made where *rest* begins, relates to *value* where it ends."""
    if change.new_masked:
        return _compare_masked(change, rest, value, masks)
    if change.new_cut is not None:
        return _compare_cut(change.new_cut, rest, value)
    new = ABSENT if change.new is msgspec.UNSET else change.new
    return _agreement_by_equality(is_same_value(value_after(new, rest), value))


def _compare_masked(
    change: ChangedField, rest: tuple[Step, ...], value: Value, masks: Masks | None
) -> Agreement:
    if value is ABSENT and not rest:
        return Agreement.OTHER
    if rest or masks is None:
        return Agreement.UNKNOWN
    matches = masks.matches(change.new_masked, change.path, value)
    return Agreement.UNKNOWN if matches is None else _agreement_by_equality(matches)


def _compare_cut(cut: Cut, rest: tuple[Step, ...], value: Value) -> Agreement:
    if rest:
        return Agreement.UNKNOWN
    if value is ABSENT:
        return Agreement.OTHER
    encoded = _encode(value)
    alike = cut.length == len(encoded) and cut.sha256 == hashlib.sha256(encoded).hexdigest()
    return _agreement_by_equality(alike)


def _agreement_by_equality(equal: bool) -> Agreement:  # noqa: FBT001 - the only thing it is about
    return Agreement.WHOLE if equal else Agreement.OTHER


RESOLUTION: Final = timedelta(seconds=2)
"""managedFields count whole seconds, by another clock."""

_SPEC: Final = Key("spec")


class Testimony(StrEnum):
    """What managedFields say about a record that is said to have set a field."""

    SUPPORTS = "supports"
    SILENT = "silent"
    """They say nothing against it, and would if somebody had come after."""

    ABSENT = "absent"
    """There is nothing on the object that could speak."""

    CONTRADICTS = "contradicts"


class Statement(NamedTuple):
    """A testimony, and the sentence for it."""

    testimony: Testimony
    text: str = ""


def weigh_managed_fields(drifted: Drifted, attempt: Attempt, later: Sequence[Attempt]) -> Statement:
    """Return what managedFields say about *attempt* as the last write to the field.

    *later* is what is on record of the object after it.
    """
    if drifted.path == ROOT and drifted.ref.uid:
        return Statement(Testimony.SUPPORTS, "an object's uid is given once")
    own = [entry for entry in drifted.holders if _has_manager_of(entry, attempt)]
    if any(_is_written_by(entry, attempt) for entry in own):
        return Statement(Testimony.SUPPORTS, "managedFields name its manager, since that second")
    known = (attempt, *later)
    others = [each for each in drifted.holders if not _is_kept(each, drifted, known)]
    # Where its own entry still holds the field, others that do repeated its value.
    if others and not own:
        return Statement(
            Testimony.CONTRADICTS, f"managedFields name {managers_of(others)}, not its writer"
        )
    uncounted = _count_unrecorded_writes(drifted, known)
    for entry in (*own, *drifted.entries):
        # To apply what stands there already leaves an entry without a time.
        is_timed = time_of(entry) is not None
        if not _is_accounted_for(entry, drifted, known) and (is_timed or uncounted != 0):
            return Statement(
                Testimony.CONTRADICTS,
                f"{entry.manager} wrote to the object at {_time_text(entry)}, and no record says"
                " what",
            )
    if uncounted:
        return Statement(
            Testimony.CONTRADICTS,
            f"the object's spec was written {uncounted} more times than records tell of",
        )
    is_shown = bool(drifted.entries or drifted.holders)
    can_tell = uncounted == 0 or bool(own) or not (is_shown or drifted.live is ABSENT)
    return Statement(Testimony.SILENT if can_tell else Testimony.ABSENT)


def managers_of(entries: Sequence[Entry]) -> str:
    """Return who *entries* name."""
    return ", ".join(sorted({entry.manager for entry in entries}))


def last_write_time(holders: Sequence[Entry]) -> datetime | None:
    """Return when the last of *holders* wrote, if that can be read."""
    times = [time for entry in holders if (time := time_of(entry)) is not None]
    return max(times, default=None)


def time_of(entry: Entry) -> datetime | None:
    """Return when *entry* last changed, if that can be read."""
    try:
        time = datetime.fromisoformat(entry.time)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _has_manager_of(entry: Entry, attempt: Attempt) -> bool:
    if attempt.subresource or entry.subresource:
        # The API server names no manager to a webhook when an object is scaled.
        return entry.subresource == attempt.subresource
    return entry.manager == attempt.manager != ""


def _is_written_by(entry: Entry, attempt: Attempt) -> bool:
    """Return whether *entry* was last written by *attempt*, as far as the clocks tell."""
    time = time_of(entry)
    return time is not None and abs(time - attempt.time) <= RESOLUTION


def _is_accounted_for(entry: Entry, drifted: Drifted, known: Sequence[Attempt]) -> bool:
    """Return whether *entry* wrote nothing after the first of *known* that is not on record."""
    time = time_of(entry)
    if time is None:
        # The API server gives the entries of scaling no time, and they hold nothing but replicas.
        return entry.subresource == SCALE
    if time <= known[0].time + RESOLUTION:
        return True
    return _is_kept(entry, drifted, known) or any(
        _has_manager_of(entry, attempt) and _is_written_by(entry, attempt) for attempt in known
    )


def _count_unrecorded_writes(drifted: Drifted, known: Sequence[Attempt]) -> int | None:
    """Return how many writes to the spec came after the first of *known* without a record.

    None where that cannot be told: what scales an object, and a reconciler that a grant lets write,
    raise the generation on no record and touch nothing of others.
    """
    first, *later = known
    if drifted.path.steps[:1] != (_SPEC,) or not first.generation or not drifted.generation:
        return None
    recorded = {each.generation for each in later if each.generation > first.generation}
    uncounted = max(0, drifted.generation - first.generation - len(recorded))
    is_scaled = any(entry.subresource == SCALE for entry in drifted.entries)
    may_be_harmless = bool(first.grant) or (is_scaled and drifted.path != REPLICAS)
    if first.grant and uncounted == 1:
        # The owner's, who was made to renew the stamp; and one write alone cannot have changed the
        # field and changed it back.
        return 0
    return None if uncounted and may_be_harmless else uncounted


def _is_kept(entry: Entry, drifted: Drifted, known: Sequence[Attempt]) -> bool:
    """Return whether *entry* is a reconciler's that a grant made keep the field as it was.

    It owns the field then, without having chosen its value.
    """
    time, attempt = time_of(entry), known[0]
    if entry.manager not in drifted.owner_managers or not attempt.grant or time is None:
        return False
    ends = [each.grant_expires for each in known if each.grant == attempt.grant]
    return time <= max(filter(None, ends), default=time) + RESOLUTION


def _time_text(entry: Entry) -> str:
    return entry.time or "an unknown time"
