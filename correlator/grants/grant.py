"""A grant as its records tell it: who, what for, until when, and the fields changed under it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from correlator.standing import Answer, Standing, Standings
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
    subject: str
    start: datetime
    expires: datetime | None
    closed: datetime | None
    outcome: str
    fields: tuple[Field, ...]

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
    found = [_grant(story, standing) for story in granted]
    return sorted(found, key=lambda grant: grant.start, reverse=True)


def _is_granted(attempt: Attempt) -> bool:
    return attempt.grant_act != "requested"


def _grant(story: list[Attempt], standing: Standings) -> Grant:
    first, last = next(filter(_is_granted, story)), story[-1]
    ending = next((each for each in story if each.grant_act == "closed"), None)
    return Grant(
        id=last.grant,
        cluster=last.cluster,
        grantee=last.grantee,
        approver=next((each.approver for each in story if each.approver), ""),
        rule=last.grant_rule,
        ticket=last.ticket,
        reason=next((each.reason for each in reversed(story) if each.reason), ""),
        subject=_subject(first),
        start=first.time,
        expires=max(filter(None, (each.grant_expires for each in story)), default=None),
        closed=ending.time if ending else None,
        outcome=ending.outcome if ending else "",
        fields=tuple(_fields(story, standing)),
    )


def _subject(attempt: Attempt) -> str:
    place = f"{attempt.namespace}/{attempt.name}" if attempt.namespace else attempt.name
    return f"{attempt.kind} {place}"


def _fields(story: list[Attempt], standing: Standings) -> Iterable[Field]:
    """Yield each field that was changed, with its last change; ours are no one's debt."""
    last: dict[tuple[str, str], tuple[Attempt, ChangedField]] = {}
    for attempt in story:
        for change in attempt.changes:
            last[attempt.object_uid, change.path] = (attempt, change)
    for attempt, change in last.values():
        yield Field(attempt, change, standing(attempt, change))
