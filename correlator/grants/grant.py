"""A grant as its records tell it: who, what for, until when, and the fields changed under it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from correlator.standing import Answer, Standing, Standings, Written, last_words, writes_in
from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Attempt, ChangedField


class State(StrEnum):
    """How a grant stands."""

    OPEN = "open"
    OVERDUE = "overdue"
    """It has ended, and something changed under it is still live and not in Git."""

    UNCHECKED = "unchecked"
    """It has ended, and nobody has looked whether what was changed is still live."""

    SETTLED = "settled"
    """It has ended, and everything changed under it is back, in Git, or given to somebody else."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field that was changed under a grant, with its last change."""

    attempt: Attempt
    change: ChangedField
    standing: Standing

    @property
    def is_owed(self) -> Answer:
        """Whether somebody still has to bring it home."""
        if self.standing.git is Answer.YES:
            return Answer.NO
        return self.standing.live


@dataclass(frozen=True, slots=True)
class Grant:
    """One grant."""

    id: str
    cluster: str
    grantee: str
    approver: str
    rule: str
    ticket: str
    reason: str
    target: Ref
    """The object that it is on, or the Namespace."""
    start: datetime
    expires: datetime | None
    closed: datetime | None
    """When somebody ended it, or took it over with a grant of their own."""

    outcome: str
    fields: tuple[Field, ...]

    @property
    def subject(self) -> str:
        """The object, as people call it."""
        return str(self.target)

    @property
    def end(self) -> datetime | None:
        """When it ended, or will."""
        return self.closed or self.expires

    def state(self, now: datetime) -> State:
        """Return how the grant stands at *now*."""
        if self.closed is None and self.expires is not None and now < self.expires:
            return State.OPEN
        if self.outcome == "delegated":
            return State.SETTLED
        owed = {field.is_owed for field in self.fields}
        if Answer.YES in owed:
            return State.OVERDUE
        return State.UNCHECKED if Answer.UNKNOWN in owed else State.SETTLED


def grants_of(attempts: Iterable[Attempt], standing: Standings) -> list[Grant]:
    """Return the grants that *attempts* tell of, newest first; they are given oldest first.

    Of a grant that began before the first of them, what is known is what they say.
    """
    stories: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        if attempt.grant and attempt.verdict == "allow":
            stories.setdefault((attempt.cluster, attempt.grant), []).append(attempt)
    granted = [story for story in stories.values() if any(map(_is_granted, story))]
    found = [_grant(story, standing, _successor(story, granted)) for story in granted]
    return sorted(found, key=lambda grant: grant.start, reverse=True)


def _is_granted(attempt: Attempt) -> bool:
    # Who settles a grant may name any: without its own records there is none.
    return attempt.grant_act not in {"requested", "settled"}


def _successor(story: list[Attempt], stories: list[list[Attempt]]) -> datetime | None:
    """Return when somebody else was granted the same object: it has one grant at most."""
    begun = _beginning(story)
    if begun is None:
        return None
    others = filter(None, map(_beginning, stories))
    place = (begun.cluster, begun.object_uid)
    later = (
        each.time
        for each in others
        if (each.cluster, each.object_uid) == place and each.id > begun.id
    )
    return min(later, default=None)


def _beginning(story: list[Attempt]) -> Attempt | None:
    begun = (each for each in story if each.grant_act in {"issued", "approved"})
    return next((each for each in begun if each.object_uid), None)


def _grant(story: list[Attempt], standing: Standings, successor: datetime | None) -> Grant:
    own = [each for each in story if each.grant_act != "settled"]
    first, last = next(filter(_is_granted, own)), own[-1]
    ending = next((each for each in story if each.grant_act == "closed"), None)
    expires = max(filter(None, (each.grant_expires for each in story)), default=None)
    overtaken = successor if successor and expires and successor < expires else None
    return Grant(
        id=last.grant,
        cluster=last.cluster,
        grantee=last.grantee,
        approver=next((each.approver for each in story if each.approver), ""),
        rule=last.grant_rule,
        ticket=last.ticket,
        reason=next((each.reason for each in reversed(own) if each.reason), ""),
        target=ref_of_attempt(first),
        start=first.time,
        expires=expires,
        closed=ending.time if ending else overtaken,
        outcome=_outcome(story, first.object_uid),
        fields=tuple(_fields(own, standing)),
    )


def _outcome(story: list[Attempt], uid: str) -> str:
    """Return what was said last of the changes: at the end, or later on the same object."""
    said = (
        each.outcome
        for each in reversed(story)
        if each.grant_act == "closed" or (each.grant_act == "settled" and each.object_uid == uid)
    )
    return next(filter(None, said), "")


def ref_of_attempt(attempt: Attempt) -> Ref:
    """Return the object that *attempt* was about."""
    return Ref(
        attempt.group,
        attempt.version,
        attempt.kind,
        attempt.namespace,
        attempt.name,
        attempt.object_uid,
    )


def _fields(story: list[Attempt], standing: Standings) -> Iterable[Field]:
    """Yield each field that was changed, with the change that stands, or else its last one."""
    written: dict[tuple[str, str], list[Written]] = {}
    for attempt in story:
        for change in writes_in(attempt):
            written.setdefault((attempt.object_uid, change.path), []).append((attempt, change))
    for writes in written.values():
        yield Field(*last_words(reversed(writes), standing)[-1])
