"""A grant as its records tell it: who, what for, until when, and the fields changed under it.

What is owed for grants, looked at again and again at the cost of what is not settled.

What the ledger knows of grants, as `grants_of` reads it.

How many grants stand how: what Prometheus is told, and alerts go by.

That a grant is over, told on its object: nobody writes at that moment, so nobody else tells.
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
    Standing,
    Standings,
    Written,
    last_words,
    writes_in,
)
from glasswarden.kube.events import Event, name_of
from glasswarden.kube.objects import Ref
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt, ChangedField
from glasswarden.ledger.writes import find_attempts, writes_of


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


Key = tuple[str, str]
"""The cluster, and the grant's id in it."""

_UNDONE: Final = Standing(Answer.NO)


class Owed:
    """Knows which grants are settled: they stay so, and nobody looks at their objects again."""

    def __init__(self) -> None:
        self._settled: set[Key] = set()

    def look(self, story: Sequence[Attempt], standing: Standings, now: datetime) -> list[Grant]:
        """Return the grants that *story*, oldest first, tells of, newest first.

        *standing* is asked about what was changed under those alone that have ended and are not
        known to be settled.
        """
        told = grants_of(story, _unlooked)
        self._settled &= {key_of(grant) for grant in told}
        ended = {key_of(grant) for grant in told if grant.state(now) is State.UNCHECKED}
        wanted = ended - self._settled

        def asked(attempt: Attempt, change: ChangedField) -> Standing:
            is_wanted = (attempt.cluster, attempt.grant) in wanted
            return standing(attempt, change) if is_wanted else _UNDONE

        found = grants_of(story, asked)
        self._settled |= {key_of(grant) for grant in found if grant.state(now) is State.SETTLED}
        return found


def key_of(grant: Grant) -> Key:
    """Return what tells *grant* from all others."""
    return grant.cluster, grant.id


def _unlooked(_attempt: Attempt, _change: ChangedField) -> Standing:
    return UNKNOWN


PAGE: Final = 500
BEGINNINGS: Final = frozenset({"issued", "approved"})


def stories_since(ledger: Ledger, since: datetime, cluster: str | None = None) -> list[Attempt]:
    """Return what was recorded of the grants that anything happened to since *since*.

    Oldest first, and from each grant's beginning.
    """
    recent = list(
        find_attempts(ledger, Question(granted=True, cluster=cluster, since=since, limit=PAGE))
    )
    begun = {_key(each) for each in recent if each.grant_act in BEGINNINGS}
    torn = {_key(each) for each in recent} - begun
    earlier = (
        each
        for place, grant in sorted(torn)
        for each in find_attempts(
            ledger, Question(grant=grant, cluster=place, until=since, limit=PAGE)
        )
    )
    return last_tries(sorted([*earlier, *recent], key=lambda each: each.id))


def last_tries(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return *attempts*, oldest first, without those that the API server tried again.

    Each try was given a grant of its own, and only the last one can have been stored.
    """
    kept = (
        each
        for tries in writes_of(attempts)
        for each in {each.grant_act: each for each in tries}.values()
    )
    return sorted(kept, key=lambda each: each.id)


def _key(attempt: Attempt) -> tuple[str, str]:
    return attempt.cluster, attempt.grant


def figures_of(grants: Iterable[Grant], now: datetime) -> dict[State, int]:
    """Return how many of *grants* are in each state at *now*, zeros too."""
    counted = Counter(grant.state(now) for grant in grants)
    return {state: counted[state] for state in State}


RECENT: Final = timedelta(minutes=15)
"""How long after its end a grant's is still told; an API server keeps Events for longer than that,
so whoever tells it once more finds it told."""

MOST_FIELDS: Final = 6


def expired(grants: Iterable[Grant], now: datetime) -> list[Grant]:
    """Return those of *grants* whose time ran out a short while ago."""
    return [
        grant
        for grant in grants
        if grant.closed is None and grant.expires is not None
        if now - RECENT < grant.expires <= now
    ]


def expiry_of(grant: Grant) -> Event:
    """Return what is told of a grant whose time ran out."""
    return Event(
        grant.target,
        "BreakGlassExpired",
        "Expire",
        f"The grant of {grant.grantee} for {grant.ticket} is over: Git decides again."
        f"{_changed(grant)}",
    )


def expiry_name(grant: Grant) -> str:
    """Return the name of that Event: always the same, so that it is told once."""
    return name_of(expiry_of(grant), f"{grant.id}.expired")


def _changed(grant: Grant) -> str:
    paths = [field.change.path for field in grant.fields]
    if not paths:
        return ""
    more = len(paths) - MOST_FIELDS
    return f" Changed under it: {', '.join(paths[:MOST_FIELDS])}" + (
        f" and {more} more." if more > 0 else "."
    )
