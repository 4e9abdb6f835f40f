"""Whether what a record says was written still stands in the cluster, and in Git."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from correlator.link.agreement import Agreement, agreement
from glasswarden.kube.lookup import value_at
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
class Standing:
    """What became of a changed field."""

    live: Answer = Answer.UNKNOWN
    git: Answer = Answer.UNKNOWN


UNKNOWN: Final = Standing()

WHOLE: Final = ChangedField(path="/")
"""What a creation and a deletion changed."""

OBJECT: Final = WHOLE.path

Standings: TypeAlias = Callable[[Attempt, ChangedField], Standing]
"""Tells what became of a field that an attempt changed."""

Written: TypeAlias = tuple[Attempt, ChangedField]
Judged: TypeAlias = tuple[Attempt, ChangedField, Standing]

Lookup: TypeAlias = Callable[[Ref], Object | None]
"""Returns the object, none where there is none; raises `NotKnown` where that cannot be told."""


class NotKnown(Exception):
    """Nobody could look."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Standings by looking: in the cluster, and in what Git declares."""

    live: Lookup
    declared: Lookup | None = None
    masks: Masks | None = None

    def __call__(self, attempt: Attempt, change: ChangedField) -> Standing:
        """Return what became of *change*; of a deletion, whether the object is still gone."""
        ref = Ref(attempt.group, attempt.version, attempt.kind, attempt.namespace, attempt.name)
        if change.path == WHOLE.path:
            wanted = attempt.operation != "DELETE"
            git = _exists(self.declared, ref, wanted) if self.declared else Answer.UNKNOWN
            return Standing(_exists(self.live, ref, wanted), git)
        live = self._answer(self.live, ref, change, attempt.object_uid)
        if self.declared is None:
            return Standing(live)
        return Standing(live, self._answer(self.declared, ref, change))

    def _answer(self, lookup: Lookup, ref: Ref, change: ChangedField, uid: str = "") -> Answer:
        try:
            found = lookup(ref)
        except NotKnown:
            return Answer.UNKNOWN
        if found is None or (uid and ref_of(found).uid != uid):
            return Answer.NO  # the object that was written to is gone
        path = parse_path(change.path)
        said = agreement(change, path, value_at(found, path), self.masks)
        return {Agreement.WHOLE: Answer.YES, Agreement.OTHER: Answer.NO}.get(said, Answer.UNKNOWN)


def _exists(lookup: Lookup, ref: Ref, wanted: bool) -> Answer:  # noqa: FBT001 - a truth to compare
    """Tell whether there is an object, or none, as *wanted*; one on its way out is none."""
    try:
        found = lookup(ref)
    except NotKnown:
        return Answer.UNKNOWN
    there = found is not None and "deletionTimestamp" not in metadata_of(found)
    return Answer.YES if there is wanted else Answer.NO


def writes_in(attempt: Attempt) -> tuple[ChangedField, ...]:
    """Return what *attempt* changed; of one that made or took away an object, the whole of it."""
    return (WHOLE,) if attempt.operation in ("CREATE", "DELETE") else attempt.changes


def last_words(
    newest_first: Iterable[Written],
    standing: Standings,
    is_stored: Callable[[Attempt], bool] = lambda _: False,
) -> list[Judged]:
    """Return those writes to one field that no later one has put out of date, with their standing.

    A record tells of an attempt. Where the newest write is not live it may never have been stored,
    and then the value of the one before it stands: that one is asked too, until a value is live or
    a write is known to have been stored. If none is, the newest has the last word alone.
    """
    judged: list[Judged] = []
    for attempt, change in newest_first:
        found = standing(attempt, change)
        judged.append((attempt, change, found))
        if found.live is Answer.YES:
            return judged
        if is_stored(attempt) or (found.live is Answer.UNKNOWN and len(judged) == 1):
            break
    return judged[:1]
