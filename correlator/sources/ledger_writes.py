"""The direct writes to one object, compared with its live state: which of them are still live.

The records of an object, newest first, are its history backwards. A change is still live if the
field has the value that it set, and the owner has not applied the field since: a direct write takes
a field from the owner's field manager, and the next apply of the owner takes it back. A change that
is still live is then reverted in memory, so that older changes are compared with the state that
they left. A map or a list that was added as a whole is compared by its parts, because others may
have added to it.

Pure: records and objects in, findings out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

import msgspec

from correlator.attribution.evidence import RESOLUTION, Agreement, compare_change, is_same_value
from correlator.detector.managers import Managers, Party, managers_for
from correlator.finding import UNKNOWN, Finding, Hidden, Incomplete, parse_time
from glasswarden.kube.compare import ABSENT, Value, value_at
from glasswarden.kube.diff import Change, remove_noise
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import owner_of
from glasswarden.kube.managed_fields import (
    Entry,
    FieldsV1,
    child_of,
    entries_of,
    hints_below,
    items_from_hints,
    owned_paths_of,
    owners_at,
    remove_fields,
)
from glasswarden.kube.objects import Object, Ref, generation_of, metadata_of, ref_of
from glasswarden.kube.patch import ChangeMismatch, apply_changes
from glasswarden.kube.paths import REPLICAS, ROOT, Key, Order, Path, Step, parse_path, path_of
from glasswarden.kube.schema import Items, KeyedItems, index_by_identity, shape_of, step_to
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField
from glasswarden.ledger.writes import RETRY_WINDOW
from glasswarden.policy.policy import Policy

_SELF: Final = "."


class Hold(Enum):
    """How much of a field the owner has applied since."""

    NOTHING = auto()
    PARTS = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True)
class Reapplied:
    """What the owner's managers have applied since a direct write, by managedFields."""

    entries: tuple[Entry, ...]
    managers: Managers
    attempt: Attempt
    grant_end: datetime | None
    """Until when the write was protected: the owner was made to keep what it did not choose."""

    def hold(self, path: Path, value: Value) -> Hold:
        """Return how much of *value*, which stands at *path*, is the owner's again."""
        owner = list(self._appliers())
        nodes = [node for entry in owner if (node := _node(entry.fields, path)) is not None]
        if any(_has_parts(node) for node in nodes):
            return Hold.PARTS if isinstance(value, dict | list) else Hold.ALL
        others = [entry for entry in self.entries if self._is_other(entry)]
        if nodes:
            # A map that was applied empty is held as a whole, and holds nothing.
            inside = any(_has_parts(_node(entry.fields, path) or {}) for entry in others)
            return Hold.NOTHING if inside else Hold.ALL
        around = owners_at(self.entries, path)
        is_owners = any(entry in owner for entry in around) and not any(map(self._is_other, around))
        return Hold.ALL if is_owners else Hold.NOTHING

    def has_left_out(self) -> bool:
        """Return whether the owner has applied since, so that what is gone is gone from Git too."""
        return any(
            not entry.subresource
            and (time := parse_time(entry.time)) is not None
            and time > self.attempt.time + RESOLUTION
            for entry in self._appliers()
        )

    def _appliers(self) -> Iterator[Entry]:
        for entry in self.entries:
            if self.managers.party_of(entry) is Party.OWNER and self._is_since(entry):
                yield entry

    def _is_other(self, entry: Entry) -> bool:
        return self.managers.party_of(entry) is not Party.OWNER

    def _is_since(self, entry: Entry) -> bool:
        time = parse_time(entry.time)
        if time is None:
            return self.grant_end is None
        if self.grant_end is not None and time < self.grant_end:
            return False
        # Whoever writes under the owner's own name leaves an entry that looks like the owner's.
        is_disguised = entry.manager == self.attempt.manager
        return time >= self.attempt.time + (RESOLUTION if is_disguised else -RESOLUTION)


def _node(fields: FieldsV1, path: Path) -> FieldsV1 | None:
    """Return what *fields* say at the very *path*."""
    node: FieldsV1 | None = fields
    for step in path.steps:
        node = child_of(node, step) if node else None
    return node


def _has_parts(node: FieldsV1) -> bool:
    return any(name != _SELF for name in node)


def parts_of(change: ChangedField, ref: Ref, entries: tuple[Entry, ...]) -> list[ChangedField]:
    """Return *change* as changes to its parts; none where it cannot be divided."""
    if change.old is not msgspec.UNSET or change.old_masked or change.old_cut is not None:
        return []
    path = parse_path(change.path)
    return [
        ChangedField(path=str(part), manager=change.manager, new=value)
        for part, value in _parts(path, change.new, ref, entries)
    ]


def _parts(
    path: Path, value: Value, ref: Ref, entries: tuple[Entry, ...]
) -> Iterator[tuple[Path, Value]]:
    if isinstance(value, dict):
        yield from ((path / Key(name), each) for name, each in value.items())
    elif isinstance(value, list):
        match _items_at(path, ref, entries):
            case KeyedItems(keys=keys):
                yield from _items(path, value, keys)
            case "set":
                yield from _items(path, value, ())


def _items(path: Path, value: list[Value], keys: tuple[str, ...]) -> Iterator[tuple[Path, Value]]:
    if index_by_identity(value, keys) is not None:
        yield from ((path / step_to(item, keys), item) for item in value)


def _items_at(path: Path, ref: Ref, entries: tuple[Entry, ...]) -> Items | None:
    """Return how the items at *path* are told apart, by the kind's schema or by managedFields."""
    shape, hints = shape_of(ref), tuple(entry.fields for entry in entries)
    for step in path.steps:
        shape, hints = shape.below(step), hints_below(hints, step)
    return shape.items or items_from_hints(hints)


SOURCE: Final = "ledger"

_DELETED: Final = path_of("metadata", "deletionTimestamp")
_LONGEST_ADMISSION: Final = timedelta(seconds=30)
"""The API server gives a webhook no longer: what was created is stored by then."""

BY_RECONCILER: Final = "held"
"""The clause that decides about the owner's own writes."""

_NOBODYS: Final = Managers(frozenset())

_Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """What the writes to all objects are judged by."""

    policy: Policy
    masks: Masks | None = None
    grant_ends: Mapping[str, datetime] = field(default_factory=dict)
    """When each grant that a record names ended, or will."""


class DirectWrites:
    """What was written to an object that is live; `take` the records about it newest first."""

    def __init__(self, live: Object, rules: Rules) -> None:
        self._rules = rules
        self._ref = ref_of(live)
        self._metadata = metadata_of(live)
        self._generation = generation_of(live)
        self._entries = entries_of(live)
        self._owner = owner_of(live, rules.policy.engines)
        self._live = self._before = remove_noise(live)
        self._standing: dict[_Steps, Attempt] = {}
        """The fields that direct writes still stand in, each with the newest of those."""
        self._untold: set[_Steps] = set()
        """Those of them that had a value before which the records do not tell."""
        self._closed: set[_Steps] = set()
        """Fields about which older records say nothing any more."""
        self._tries: dict[str, datetime] = {}
        self._created: Attempt | None = None
        self._deleted: Attempt | None = None
        self.incomplete: list[Incomplete] = []

    def take(self, attempt: Attempt) -> None:
        """Take in the next older record about an object of this name."""
        if not self._concerns_us(attempt):
            return
        is_earlier_try = self._is_tried_again(attempt)
        self._owner = self._owner or owner_in(attempt)
        match attempt.operation:
            case "CREATE":
                self._created = attempt
            case "DELETE":
                self._deleted = self._deleted or attempt
            case _:
                for change in attempt.changes:
                    located = self._locate(attempt, change)
                    if not is_earlier_try or self._fits(located):
                        self._judge(attempt, located)
        if attempt.unlisted and not is_earlier_try:
            what = f"{attempt.unlisted} more fields of {self._ref}"
            why = f"record {attempt.id} lists only the first {len(attempt.changes)} changes"
            self.incomplete.append(Incomplete(what, why, Hidden.NONE))

    def findings(self) -> Iterator[Finding]:
        """Yield what is not the owner's."""
        if self._created is not None and not self._is_adopted():
            metadata = {"metadata": self._live.get("metadata", {})}
            yield self._finding(ROOT, ABSENT, metadata, self._created)
            return
        if self._deleted is not None and (when := self._metadata.get("deletionTimestamp")):
            yield self._finding(_DELETED, ABSENT, when, self._deleted)
        for steps, attempt in self._standing.items():
            if not _is_below(steps, self._standing):
                yield from self._difference(path_of(*steps), attempt)

    def _difference(self, path: Path, attempt: Attempt) -> Iterator[Finding]:
        live, before = value_at(self._live, path), value_at(self._before, path)
        if isinstance(before, ChangedField):
            is_back = compare_change(before, path, live, self._rules.masks) is Agreement.WHOLE
        else:
            is_back = is_same_value(before, live)
        if is_back:
            return
        # What nobody owns, nobody declares.
        is_told = not self._is_untold(path) and (self._owner is not None or before is ABSENT)
        before = before if is_told else UNKNOWN
        yield self._finding(path, before, live, attempt)

    def _finding(self, path: Path, before: Value, live: Value, attempt: Attempt) -> Finding:
        holders = owners_at(self._entries, path) if live is not ABSENT and path != ROOT else ()
        return Finding(
            self._ref,
            path,
            before,
            live,
            attempt.time,
            SOURCE,
            owner=self._owner,
            holders=tuple(map(remove_fields, holders)),
            entries=tuple(map(remove_fields, self._entries)),
            generation=self._generation,
        )

    def _concerns_us(self, attempt: Attempt) -> bool:
        """Return whether *attempt* is a direct write to this very object, not to its namesake."""
        if attempt.clause == BY_RECONCILER or attempt.subresource == "status":
            return False
        if attempt.object_uid or attempt.operation != "CREATE":
            return attempt.object_uid == self._ref.uid
        made = parse_time(str(self._metadata.get("creationTimestamp", "")))
        if made is None:
            return False
        return attempt.time - RESOLUTION <= made <= attempt.time + _LONGEST_ADMISSION

    def _is_tried_again(self, attempt: Attempt) -> bool:
        """Return whether the API server made the same write once more, right after this try."""
        later = self._tries.get(attempt.fingerprint)
        if attempt.fingerprint:
            self._tries[attempt.fingerprint] = attempt.time
        return later is not None and later - attempt.time <= RETRY_WINDOW

    def _locate(self, attempt: Attempt, change: ChangedField) -> ChangedField:
        """Return *change* where it stands in the object: a custom resource scales any field."""
        if attempt.subresource != "scale" or value_at(self._live, REPLICAS) is not ABSENT:
            return change
        scaled = (entry.fields for entry in self._entries if entry.subresource == "scale")
        path = next((path for fields in scaled for path in owned_paths_of(fields)), None)
        return change if path is None else msgspec.structs.replace(change, path=str(path))

    def _fits(self, change: ChangedField) -> bool:
        """Return whether *change* made what is uncovered now: an earlier try never did.

        Who sets, unsets and sets a field again within seconds leaves the same records.
        """
        path = parse_path(change.path)
        return self._compare(change, path, value_at(self._before, path)) is Agreement.WHOLE

    def _judge(self, attempt: Attempt, change: ChangedField) -> None:
        """Find out whether *change* stands, and take it back if it does."""
        path = parse_path(change.path)
        if _is_within(path.steps, self._closed):
            return
        now = value_at(self._before, path)
        since = self._since(attempt)
        said, hold = self._compare(change, path, now), since.hold(path, now)
        if now is ABSENT:
            hold = Hold.ALL if since.has_left_out() else Hold.NOTHING
        if said is Agreement.WHOLE and hold is Hold.NOTHING:
            self._take_back(attempt, change, path, now)
        elif parts := parts_of(change, self._ref, self._entries) if now is not ABSENT else []:
            for part in parts:
                self._judge(attempt, part)
        else:
            self._closed.add(path.steps)
            if hold is Hold.NOTHING:
                self._doubt(attempt, change, path, said)

    def _compare(self, change: ChangedField, path: Path, now: Value) -> Agreement:
        if isinstance(now, ChangedField):
            is_it = (now.new_masked, now.new_cut) == (change.new_masked, change.new_cut)
            return Agreement.WHOLE if is_it else Agreement.UNKNOWN
        if not isinstance(path.step, Order):
            return compare_change(change, path, now, self._rules.masks)
        try:
            changed = apply_changes(self._before, [Change(path, now, change.new)])
        except ChangeMismatch:
            return Agreement.OTHER
        return Agreement.WHOLE if is_same_value(changed, self._before) else Agreement.OTHER

    def _take_back(self, attempt: Attempt, change: ChangedField, path: Path, now: Value) -> None:
        self._standing.setdefault(path.steps, attempt)
        before = _before(change)
        if isinstance(before, ChangedField):
            self._untold.add(path.steps)
        try:
            self._before = apply_changes(self._before, [Change(path, now, before)])
        except ChangeMismatch:  # what stood around it is gone
            self._untold.add(path.steps)
            self._closed.add(path.steps)

    def _doubt(self, attempt: Attempt, change: ChangedField, path: Path, said: Agreement) -> None:
        """Say what cannot be told of a change that stands no more, or not surely."""
        if said is Agreement.UNKNOWN:
            why = f"record {attempt.id} set it, but to what is masked or cut and cannot be compared"
        elif self._is_settled(change, path):
            return
        else:
            why = f"record {attempt.id} set it, and whoever changed it since was not recorded"
        self.incomplete.append(Incomplete(f"{path} of {self._ref}", why, Hidden.NONE))

    def _is_settled(self, change: ChangedField, path: Path) -> bool:
        """Return whether the field was put back, is found anyway, or is Kubernetes' own by now."""
        if _is_within(path.steps, self._standing):
            return True
        now = value_at(self._before, path)
        if compare_change(_taken_back(change), path, now, self._rules.masks) is Agreement.WHOLE:
            return True
        parties = map(self._managers().party_of, owners_at(self._entries, path))
        return any(party is not Party.OTHER for party in parties)

    def _since(self, attempt: Attempt) -> Reapplied:
        end = self._rules.grant_ends.get(attempt.grant)
        return Reapplied(self._entries, self._managers(), attempt, end)

    def _managers(self) -> Managers:
        return managers_for(self._owner, self._rules.policy) if self._owner else _NOBODYS

    def _is_adopted(self) -> bool:
        """Return whether the owner has applied an object that somebody else created."""
        managers = self._managers()
        return any(managers.party_of(entry) is Party.OWNER for entry in self._entries)

    def _is_untold(self, path: Path) -> bool:
        return any(steps[: len(path.steps)] == path.steps for steps in self._untold)


def deletion(attempt: Attempt) -> Finding:
    """Return the finding that an object is gone which *attempt* deleted."""
    ref = Ref(attempt.group, attempt.version, attempt.kind, attempt.namespace, attempt.name)
    return Finding(ref, ROOT, UNKNOWN, ABSENT, attempt.time, SOURCE, owner=owner_in(attempt))


def owner_in(attempt: Attempt) -> Owner | None:
    """Return whose object it was when it was written."""
    if not attempt.engine:
        return None
    return Owner(attempt.engine, attempt.app, attempt.app_namespace or None, attempt.app_kind)


def _taken_back(change: ChangedField) -> ChangedField:
    """Return the change that sets a field to what it was before *change*."""
    return ChangedField(
        path=change.path, new=change.old, new_masked=change.old_masked, new_cut=change.old_cut
    )


def _before(change: ChangedField) -> Value:
    """Return what stood there before *change*; what is masked or cut, as far as it is told."""
    if change.old_masked or change.old_cut is not None:
        return _taken_back(change)
    return ABSENT if change.old is msgspec.UNSET else change.old


def _is_within(steps: _Steps, places: Iterable[_Steps]) -> bool:
    return any(steps[: len(place)] == place for place in places)


def _is_below(steps: _Steps, places: Iterable[_Steps]) -> bool:
    return any(len(place) < len(steps) and steps[: len(place)] == place for place in places)
