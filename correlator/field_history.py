"""The writes to the fields of an object, oldest first.

A record describes an attempt that was allowed, not one that was stored. It counts as stored once
something confirms it: a later record that found its value, the live object, or the audit log. Where
the next record found another value than the previous one left, an unrecorded writer, usually a
reconciler, wrote in between. That is a step of its own, with the name, if any, that managedFields
give.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET

from correlator.attribution.context import Knowledge
from correlator.attribution.evidence import (
    Agreement,
    compare_change,
    is_same_value,
    last_write_time,
    managers_of,
)
from correlator.audit.observed_write import ObservedWrite
from glasswarden.kube.compare import ABSENT, Value, value_at
from glasswarden.kube.managed_fields import entries_of, owners_at
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.paths import Path, parse_path
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField, Cut
from glasswarden.ledger.writes import writes_of


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


def old_side_of(change: ChangedField) -> Side:
    """Return what was there."""
    return Side(_json_value_of(change.old), change.old_masked, change.old_cut)


def new_side_of(change: ChangedField) -> Side:
    """Return what was put there."""
    return Side(_json_value_of(change.new), change.new_masked, change.new_cut)


def are_alike(one: Side, other: Side) -> bool | None:
    """Return whether both are the same value; none where that cannot be told."""
    if one.is_plain and other.is_plain:
        return is_same_value(one.value, other.value)
    if one.masked and other.masked:
        same_key = one.masked.partition(":")[0] == other.masked.partition(":")[0]
        return one.masked == other.masked if same_key else None
    if one.cut is not None and other.cut is not None:
        return one.cut == other.cut
    # A value, even a large one, is not none.
    return False if ABSENT in (one.value, other.value) and one.is_plain != other.is_plain else None


def _json_value_of(value: object) -> Value:
    return ABSENT if value is msgspec.UNSET else value


OBJECT: Final = "/"
"""The path of a step that is about the object as a whole."""


class WriteOutcome(StrEnum):
    """What became of a write."""

    DENIED = "denied"
    ATTEMPTED = "attempted"
    """It was allowed; nothing shows whether it was stored."""

    STORED = "stored"
    REFUSED = "refused"
    """It was allowed, and the API server did not store it: the audit log shows it."""

    UNRECORDED = "unrecorded"
    """Nobody recorded it; what stood there later shows that it happened."""


_FATES: Final = {
    None: WriteOutcome.ATTEMPTED,
    True: WriteOutcome.STORED,
    False: WriteOutcome.REFUSED,
}
_COUNTED: Final = (WriteOutcome.ATTEMPTED, WriteOutcome.STORED, WriteOutcome.UNRECORDED)
"""What may have left its value behind."""


@dataclass(frozen=True, slots=True)
class Step:
    """One write to one field."""

    path: str
    fate: WriteOutcome
    time: datetime | None
    """When it happened; of what nobody recorded, when managedFields say that it did."""

    before: Side
    after: Side
    actor: str = ""
    manager: str = ""
    operation: str = "UPDATE"
    ticket: str = ""
    reason: str = ""
    grant: str = ""
    records: tuple[str, ...] = ()
    """All tries that the API server made of it, the last one last."""

    uid: str = ""
    evidence: str = ""
    """What confirms that it was stored, or shows that it happened."""

    did: str = ""
    """What was done, where only the audit log tells: it may not say to which value."""


_Field: TypeAlias = tuple[str, str]
"""An object's uid, and a path in it."""


def chain_of(
    attempts: Iterable[Attempt],
    live: Object | None,
    knowledge: Knowledge,
    masks: Masks | None = None,
    past: Iterable[ObservedWrite] = (),
) -> list[Step]:
    """Return the steps that *attempts*, one object's and oldest first, tell of.

    *live* is the object as it is now, none where there is none or nobody looked; *past* is what
    got past the webhook, by the audit log.
    """
    steps = [step for tries in writes_of(attempts) for step in _recorded_steps(tries, knowledge)]
    fields: dict[_Field, list[Step]] = {}
    for step in steps:
        fields.setdefault((step.uid, step.path), []).append(step)
    told = [
        step
        for field, chain in fields.items()
        for step in _extend_to_live(_join_steps(chain, _disturbed_times(field, steps)), live, masks)
    ]
    return _sort_steps([*told, *map(_bypass_step_of, past)])


def _bypass_step_of(observed: ObservedWrite) -> Step:
    """Return what the audit log shows that got past the webhook."""
    posed = observed.user != observed.actor
    return Step(
        str(observed.field),
        WriteOutcome.UNRECORDED,
        observed.time,
        Side(),
        Side(),
        f"{observed.user} as {observed.actor}" if posed else observed.actor,
        did=observed.did,
        uid=observed.ref.uid,
        evidence=f"the audit log shows it, without a record ({observed.sort})",
    )


def _recorded_steps(tries: tuple[Attempt, ...], knowledge: Knowledge) -> Iterator[Step]:
    last = tries[-1]
    witness = next(filter(None, (knowledge.witnesses.get(each.id) for each in tries)), None)
    stored = witness.stored if witness is not None else None
    fate = WriteOutcome.DENIED if last.verdict != "allow" else _FATES[stored]
    whole = (ChangedField(path=OBJECT),) if last.operation in ("CREATE", "DELETE") else ()
    for change in last.changes or whole:
        yield Step(
            change.path,
            fate,
            last.time,
            old_side_of(change),
            new_side_of(change),
            last.actor,
            change.manager or last.manager,
            last.operation,
            last.ticket,
            last.reason,
            last.grant,
            tuple(each.id for each in tries),
            last.object_uid,
            "the audit log" if stored is not None else "",
        )


def _disturbed_times(field: _Field, steps: Sequence[Step]) -> frozenset[datetime]:
    """Return when something else that contains the field, or is part of it, was written."""
    uid, path = field
    own = parse_path(path).steps
    times = set()
    for step in steps:
        if step.uid != uid or step.path == path or step.time is None:
            continue
        other = parse_path(step.path).steps
        if own[: len(other)] == other or other[: len(own)] == own:
            times.add(step.time)
    return frozenset(times)


def _join_steps(chain: list[Step], disturbed: frozenset[datetime]) -> list[Step]:
    """Return one field's *chain* with what must have happened between its steps."""
    joined: list[Step] = []
    left: int | None = None  # which step left the value that the next one found
    for step in chain:
        if left is not None and not _is_disturbed(joined[left], step, disturbed):
            found = are_alike(joined[left].after, step.before)
            if found:
                joined[left] = _confirm(joined[left], "the next record found its value")
            elif found is False:
                joined.append(_step_between(joined[left], step))
                left = len(joined) - 1
        joined.append(step)
        if step.fate in _COUNTED:
            left = len(joined) - 1
    return joined


def _confirm(step: Step, evidence: str) -> Step:
    if step.fate is not WriteOutcome.ATTEMPTED:
        return step
    return replace(step, fate=WriteOutcome.STORED, evidence=evidence)


def _is_disturbed(one: Step, other: Step, disturbed: frozenset[datetime]) -> bool:
    return any(
        one.time is not None and other.time is not None and one.time <= time <= other.time
        for time in disturbed
    )


def _step_between(one: Step, other: Step) -> Step:
    """Return what must have happened after *one*, for *other* found another value."""
    evidence = "the next record found another value"
    if one.fate is WriteOutcome.ATTEMPTED and are_alike(one.before, other.before):
        evidence = "the next record found the value from before: put back, or never changed"
    return Step(
        one.path,
        WriteOutcome.UNRECORDED,
        None,
        one.after,
        other.before,
        uid=one.uid,
        evidence=evidence,
    )


def _extend_to_live(chain: list[Step], live: Object | None, masks: Masks | None) -> list[Step]:
    """Return *chain* with what the live object shows about its end."""
    counted = [number for number, step in enumerate(chain) if step.fate in _COUNTED]
    if live is None or not counted:
        return chain
    last = chain[counted[-1]]
    if last.path == OBJECT or last.uid != ref_of(live).uid:
        return chain
    path = parse_path(last.path)
    said = compare_change(_change_of(last), path, value_at(live, path), masks)
    if said is Agreement.WHOLE:
        chain[counted[-1]] = _confirm(last, "the live object has its value")
    if said is Agreement.OTHER:
        chain.append(_step_since(last, path, live))
    return chain


def _step_since(last: Step, path: Path, live: Object) -> Step:
    """Return what must have happened after *last*, for *live* has another value."""
    value, holders = Side(value_at(live, path)), owners_at(entries_of(live), path)
    evidence = "the live object has another value"
    if last.fate is WriteOutcome.ATTEMPTED and are_alike(last.before, value):
        evidence = "the live object has the value from before: put back, or never changed"
    return Step(
        last.path,
        WriteOutcome.UNRECORDED,
        last_write_time(holders),
        last.after,
        value if last.after.is_plain else replace(last.after, masked=last.after.masked or "live"),
        manager=managers_of(holders),
        uid=last.uid,
        evidence=evidence,
    )


def _change_of(step: Step) -> ChangedField:
    """Return what *step* put there, in the ledger's form."""
    side = step.after
    if not side.is_plain:
        return ChangedField(path=step.path, new_masked=side.masked, new_cut=side.cut)
    return ChangedField(path=step.path, new=UNSET if side.value is ABSENT else side.value)


def _sort_steps(steps: list[Step]) -> list[Step]:
    """Return *steps* by time; those of unknown time stay behind the one that they followed."""
    placed: list[tuple[datetime, Step]] = []
    for step in steps:
        behind = placed[-1][0] if placed else _EVER
        placed.append((step.time or behind, step))
    return [step for _, step in sorted(placed, key=lambda pair: pair[0])]


_EVER: Final = datetime.max.replace(tzinfo=UTC)
