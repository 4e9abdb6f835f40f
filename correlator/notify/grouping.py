"""Events that belong together become one message. Pure but for what it remembers: no clock."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from correlator.notify.event import Event, Kind

MOST_EVENTS: Final = 20
"""Told in one message; the rest is counted."""
MOST_GROUPS: Final = 1000
"""Gathered at a time; beyond that the oldest is told early."""
MOST_REMEMBERED: Final = 10_000
"""Events that are known to have been told."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one target is told at once."""

    target: str
    about: str
    """The ticket, or the application, or the namespace, or the cluster."""
    events: tuple[Event, ...]
    more: int = 0
    """Events that are not listed."""


@dataclass(slots=True)
class _Group:
    since: datetime
    events: list[Event] = field(default_factory=list)
    more: int = 0

    @property
    def is_only_denials(self) -> bool:
        return all(event.kind is Kind.DENIED for event in self.events)


Key = tuple[str, str]


class Groups:
    """Gathers events until they are due."""

    def __init__(self, window: timedelta, denials: timedelta) -> None:
        self._window = window
        self._denials = denials
        self._groups: dict[Key, _Group] = {}
        self._denied: dict[Key, datetime] = {}
        """When refused writes were last told."""
        self._told: dict[tuple[str, str], None] = {}

    def pace(self, window: timedelta, denials: timedelta) -> None:
        """Gather for so long from now on."""
        self._window, self._denials = window, denials

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, event: Event, target: str, now: datetime) -> None:
        """Take *event* up for *target*, unless it was before."""
        if (target, event.id) in self._told:
            return
        self._told[target, event.id] = None
        if len(self._told) > MOST_REMEMBERED:
            del self._told[next(iter(self._told))]
        group = self._groups.setdefault((target, about(event)), _Group(now))
        if len(group.events) < MOST_EVENTS:
            group.events.append(event)
        else:
            group.more += 1

    def due(self, now: datetime) -> list[Message]:
        """Return the messages whose time has come; they are not returned again."""
        overflow = len(self._groups) - MOST_GROUPS
        ready = [
            key
            for number, (key, group) in enumerate(self._groups.items())
            if number < overflow or self._is_due(key, group, now)
        ]
        return [self._message(key, now) for key in ready]

    def all(self, now: datetime) -> list[Message]:
        """Return everything that is gathered, due or not: at the end of a process."""
        return [self._message(key, now) for key in list(self._groups)]

    def _is_due(self, key: Key, group: _Group, now: datetime) -> bool:
        if now < group.since + self._window:
            return False
        last = self._denied.get(key)
        return not (group.is_only_denials and last is not None and now < last + self._denials)

    def _message(self, key: Key, now: datetime) -> Message:
        group = self._groups.pop(key)
        if any(event.kind is Kind.DENIED for event in group.events):
            self._denied = {
                each: at for each, at in self._denied.items() if at + self._denials > now
            }
            self._denied[key] = now
        return Message(*key, tuple(group.events), group.more)


def about(event: Event) -> str:
    """Return what *event* is gathered under."""
    if event.ticket:
        return event.ticket
    return event.application or event.namespace or event.cluster or "cluster"
