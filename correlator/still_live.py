"""Whether what a record says was written still stands in the cluster, and in Git."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from correlator.attribution.evidence import Agreement, compare_change
from glasswarden.kube.compare import value_at
from glasswarden.kube.objects import Object, Ref, metadata_of, ref_of
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField


class Answer(StrEnum):
    """Yes, no, or honestly not known."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FieldState:
    """What became of a changed field."""

    live: Answer = Answer.UNKNOWN
    git: Answer = Answer.UNKNOWN


UNKNOWN: Final = FieldState()

OBJECT: Final = "/"
"""The path of what was done to an object as a whole."""

FieldCheck: TypeAlias = Callable[[Attempt, ChangedField], FieldState]
"""Tells what became of a field that an attempt changed."""

Written: TypeAlias = tuple[Attempt, ChangedField]
CheckedWrite: TypeAlias = tuple[Attempt, ChangedField, FieldState]

Lookup: TypeAlias = Callable[[Ref], Object | None]
"""Returns the object, none where there is none; raises `NotKnown` where that cannot be told."""


class NotKnown(Exception):
    """Nobody could look."""


@dataclass(frozen=True, slots=True)
class LiveCheck:
    """Standings by looking: in the cluster, and in what Git declares."""

    live: Lookup
    declared: Lookup | None = None
    masks: Masks | None = None

    def __call__(self, attempt: Attempt, change: ChangedField) -> FieldState:
        """Return what became of *change*; of a deletion, whether the object is still gone."""
        ref = Ref(attempt.group, attempt.version, attempt.kind, attempt.namespace, attempt.name)
        if change.path == OBJECT and attempt.operation in ("CREATE", "DELETE"):
            return self._whole(attempt, ref)
        live = self._answer(self.live, ref, change, attempt.object_uid)
        if self.declared is None:
            return FieldState(live)
        return FieldState(live, self._answer(self.declared, ref, change))

    def _whole(self, attempt: Attempt, ref: Ref) -> FieldState:
        """Return whether what was created is there still, or what was deleted is still gone."""
        is_deleted = attempt.operation == "DELETE"
        live = _is_there(self.live, ref, "" if is_deleted else attempt.object_uid)
        git = _is_there(self.declared, ref) if self.declared is not None else Answer.UNKNOWN
        return FieldState(_NOT[live], _NOT[git]) if is_deleted else FieldState(live, git)

    def _answer(self, lookup: Lookup, ref: Ref, change: ChangedField, uid: str = "") -> Answer:
        try:
            found = lookup(ref)
        except NotKnown:
            return Answer.UNKNOWN
        if found is None or (uid and ref_of(found).uid != uid):
            return Answer.NO  # the object that was written to is gone
        path = parse_path(change.path)
        said = compare_change(change, path, value_at(found, path), self.masks)
        return {Agreement.WHOLE: Answer.YES, Agreement.OTHER: Answer.NO}.get(said, Answer.UNKNOWN)


_NOT: Final = {Answer.YES: Answer.NO, Answer.NO: Answer.YES, Answer.UNKNOWN: Answer.UNKNOWN}


def _is_there(lookup: Lookup, ref: Ref, uid: str = "") -> Answer:
    """Return whether the object is there; one on its way out is not."""
    try:
        found = lookup(ref)
    except NotKnown:
        return Answer.UNKNOWN
    if found is None or "deletionTimestamp" in metadata_of(found):
        return Answer.NO
    return Answer.YES if not uid or ref_of(found).uid == uid else Answer.NO


def writes_in(attempt: Attempt) -> tuple[ChangedField, ...]:
    """Return what *attempt* changed; of one that made or took away an object, the whole of it."""
    whole = attempt.operation in ("CREATE", "DELETE")
    return (ChangedField(path=OBJECT),) if whole else attempt.changes


def last_changes(
    newest_first: Iterable[Written],
    check_field: FieldCheck,
    is_stored: Callable[[Attempt], bool] = lambda _: False,
) -> list[CheckedWrite]:
    """Return those writes to one field that no later one has put out of date, with their standing.

    A record tells of an attempt. Where the newest write is not live it may never have been stored,
    and then the value of the one before it stands: that one is asked too, until a value is live or
    a write is known to have been stored. If none is, the newest has the last word alone.
    """
    judged: list[CheckedWrite] = []
    for attempt, change in newest_first:
        found = check_field(attempt, change)
        judged.append((attempt, change, found))
        if found.live is Answer.YES:
            return judged
        if is_stored(attempt) or (found.live is Answer.UNKNOWN and len(judged) == 1):
            break
    return judged[:1]
