"""Grants as their records describe them: who, why, until when, the changed fields, and their state.

`FollowUps` checks the changes under ended grants until they are settled. The module also counts
grants by state, for metrics and alerts, and describes the Event for a grant that expired: no write
happens at that time, so nothing else would publish it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from correlator.still_live import (
    UNKNOWN,
    Answer,
    FieldCheck,
    FieldState,
    Written,
    last_changes,
    writes_in,
)
from glasswarden.kube.events import Event, name_of
from glasswarden.kube.objects import Ref
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt, ChangedField
from glasswarden.ledger.writes import find_attempts, writes_of


class State(StrEnum):
    """The state of a grant."""

    OPEN = "open"
    OVERDUE = "overdue"
    """It has ended, and something changed under it is still live and not in Git."""

    UNCHECKED = "unchecked"
    """It has ended, and whether its changes are still live was not checked."""

    SETTLED = "settled"
    """It has ended, and everything changed under it is reverted, in Git, or delegated."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field that was changed under a grant, with its last change."""

    attempt: Attempt
    change: ChangedField
    state: FieldState

    @property
    def needs_follow_up(self) -> Answer:
        """Whether the change is live and still has to be merged into Git or reverted."""
        if self.state.git is Answer.YES:
            return Answer.NO
        return self.state.live


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
        """The object, for people."""
        return str(self.target)

    @property
    def end(self) -> datetime | None:
        """When it ended, or will."""
        return self.closed or self.expires

    def state_at(self, now: datetime) -> State:
        """Return the state of the grant at *now*."""
        if self.closed is None and self.expires is not None and now < self.expires:
            return State.OPEN
        if self.outcome == "delegated":
            return State.SETTLED
        answers = {field.needs_follow_up for field in self.fields}
        if Answer.YES in answers:
            return State.OVERDUE
        return State.UNCHECKED if Answer.UNKNOWN in answers else State.SETTLED


def grants_of(attempts: Iterable[Attempt], check_field: FieldCheck) -> list[Grant]:
    """Return the grants in *attempts*, newest first; the attempts are given oldest first.

    Of a grant that began before the first attempt, only what the attempts contain is known.
    """
    stories: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        if attempt.grant and attempt.verdict == "allow":
            stories.setdefault((attempt.cluster, attempt.grant), []).append(attempt)
    granted = [story for story in stories.values() if any(map(_is_granted, story))]
    found = [_grant_of(story, check_field, _successor_of(story, granted)) for story in granted]
    return sorted(found, key=lambda grant: grant.start, reverse=True)


def _is_granted(attempt: Attempt) -> bool:
    # Settling may name any grant id: without its own records there is no such grant.
    return attempt.grant_act not in {"requested", "settled"}


def _successor_of(story: list[Attempt], stories: list[list[Attempt]]) -> datetime | None:
    """Return when somebody else was granted the same object: it has one grant at most."""
    begun = _beginning_of(story)
    if begun is None:
        return None
    others = filter(None, map(_beginning_of, stories))
    place = (begun.cluster, begun.object_uid)
    later = (
        each.time
        for each in others
        if (each.cluster, each.object_uid) == place and each.id > begun.id
    )
    return min(later, default=None)


def _beginning_of(story: list[Attempt]) -> Attempt | None:
    begun = (each for each in story if each.grant_act in {"issued", "approved"})
    return next((each for each in begun if each.object_uid), None)


def _grant_of(story: list[Attempt], check_field: FieldCheck, successor: datetime | None) -> Grant:
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
        outcome=_outcome_of(story, first.object_uid),
        fields=tuple(_fields_of(own, check_field)),
    )


def _outcome_of(story: list[Attempt], uid: str) -> str:
    """Return the last outcome of the changes: at the end, or later on the same object."""
    outcomes = (
        each.outcome
        for each in reversed(story)
        if each.grant_act == "closed" or (each.grant_act == "settled" and each.object_uid == uid)
    )
    return next(filter(None, outcomes), "")


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


def _fields_of(story: list[Attempt], check_field: FieldCheck) -> Iterable[Field]:
    """Yield each field that was changed, with the change that is still live, or else the last."""
    written: dict[tuple[str, str], list[Written]] = {}
    for attempt in story:
        for change in writes_in(attempt):
            written.setdefault((attempt.object_uid, change.path), []).append((attempt, change))
    for writes in written.values():
        yield Field(*last_changes(reversed(writes), check_field)[-1])


Key = tuple[str, str]
"""The cluster, and the grant's id in it."""

_UNDONE: Final = FieldState(Answer.NO)


class FollowUps:
    """Remembers which grants are settled: they stay so, and are not checked again."""

    def __init__(self) -> None:
        self._settled: set[Key] = set()

    def check(
        self, story: Sequence[Attempt], check_field: FieldCheck, now: datetime
    ) -> list[Grant]:
        """Return the grants in *story*, which is given oldest first, newest first.

        *check_field* is called only for changes under grants that have ended and are not known to
        be settled.
        """
        unchecked = grants_of(story, _leave_unchecked)
        self._settled &= {key_of(grant) for grant in unchecked}
        ended = {key_of(grant) for grant in unchecked if grant.state_at(now) is State.UNCHECKED}
        wanted = ended - self._settled

        def check_wanted(attempt: Attempt, change: ChangedField) -> FieldState:
            is_wanted = (attempt.cluster, attempt.grant) in wanted
            return check_field(attempt, change) if is_wanted else _UNDONE

        found = grants_of(story, check_wanted)
        self._settled |= {key_of(grant) for grant in found if grant.state_at(now) is State.SETTLED}
        return found


def key_of(grant: Grant) -> Key:
    """Return the key of *grant*."""
    return grant.cluster, grant.id


def _leave_unchecked(_attempt: Attempt, _change: ChangedField) -> FieldState:
    return UNKNOWN


PAGE: Final = 500
BEGINNINGS: Final = frozenset({"issued", "approved"})


def grant_attempts_since(
    ledger: Ledger, since: datetime, cluster: str | None = None
) -> list[Attempt]:
    """Return the attempts of all grants that have a record since *since*.

    Oldest first, and from each grant's beginning.
    """
    recent = list(
        find_attempts(ledger, Question(granted=True, cluster=cluster, since=since, limit=PAGE))
    )
    begun = {_key_of_attempt(each) for each in recent if each.grant_act in BEGINNINGS}
    torn = {_key_of_attempt(each) for each in recent} - begun
    earlier = (
        each
        for place, grant in sorted(torn)
        for each in find_attempts(
            ledger, Question(grant=grant, cluster=place, until=since, limit=PAGE)
        )
    )
    return last_tries(sorted([*earlier, *recent], key=lambda each: each.id))


def last_tries(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return *attempts*, oldest first, without those that the API server retried.

    Each try was given a grant of its own, and only the last one can have been stored.
    """
    kept = (
        each
        for tries in writes_of(attempts)
        for each in {each.grant_act: each for each in tries}.values()
    )
    return sorted(kept, key=lambda each: each.id)


def _key_of_attempt(attempt: Attempt) -> tuple[str, str]:
    return attempt.cluster, attempt.grant


def count_by_state(grants: Iterable[Grant], now: datetime) -> dict[State, int]:
    """Return how many of *grants* are in each state at *now*, zeros too."""
    counted = Counter(grant.state_at(now) for grant in grants)
    return {state: counted[state] for state in State}


RECENT: Final = timedelta(minutes=15)
"""How long after its end the expiry of a grant is published; an API server keeps Events for longer
than that, so publishing it again has no effect."""

MOST_FIELDS: Final = 6


def find_expired(grants: Iterable[Grant], now: datetime) -> list[Grant]:
    """Return those of *grants* that expired recently."""
    return [
        grant
        for grant in grants
        if grant.closed is None and grant.expires is not None
        if now - RECENT < grant.expires <= now
    ]


def expiry_event_of(grant: Grant) -> Event:
    """Return the Event for a grant that expired."""
    return Event(
        grant.target,
        "BreakGlassExpired",
        "Expire",
        f"The grant of {grant.grantee} for {grant.ticket} is over: Git decides again."
        f"{_describe_changes(grant)}",
    )


def expiry_name_of(grant: Grant) -> str:
    """Return the name of that Event: always the same, so that it is published once."""
    return name_of(expiry_event_of(grant), f"{grant.id}.expired")


def _describe_changes(grant: Grant) -> str:
    paths = [field.change.path for field in grant.fields]
    if not paths:
        return ""
    more = len(paths) - MOST_FIELDS
    return f" Changed under it: {', '.join(paths[:MOST_FIELDS])}" + (
        f" and {more} more." if more > 0 else "."
    )
