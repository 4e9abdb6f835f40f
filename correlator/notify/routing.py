"""From events to messages: silences, routes, grouping, hand-over to the senders. No clock."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from correlator.notify.config import Document, Route, Silence, Target
from correlator.notify.events import Event, Kind
from glasswarden.policy.matching import names_of

MOST_EVENTS: Final = 20
"""Events in one message; the rest is counted."""
MOST_GROUPS: Final = 1000
"""Groups at a time; beyond that the oldest is sent early."""
MOST_REMEMBERED: Final = 10_000
"""Events that are remembered as sent."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message for one target."""

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
    """Groups events until they are due."""

    def __init__(self, window: timedelta, denials: timedelta) -> None:
        self._window = window
        self._denials = denials
        self._groups: dict[Key, _Group] = {}
        self._denied: dict[Key, datetime] = {}
        """When denied writes were last sent."""
        self._known: dict[tuple[str, str], None] = {}

    def set_windows(self, window: timedelta, denials: timedelta) -> None:
        """Set how long events are grouped."""
        self._window, self._denials = window, denials

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, event: Event, target: str, now: datetime) -> None:
        """Add *event* for *target*, unless it was added before."""
        if (target, event.id) in self._known:
            return
        self._known[target, event.id] = None
        if len(self._known) > MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        group = self._groups.setdefault((target, group_name_of(event)), _Group(now))
        if len(group.events) < MOST_EVENTS:
            group.events.append(event)
        else:
            group.more += 1

    def take_due(self, now: datetime) -> list[Message]:
        """Remove and return the messages that are due."""
        overflow = len(self._groups) - MOST_GROUPS
        ready = [
            key
            for number, (key, group) in enumerate(self._groups.items())
            if number < overflow or self._is_due(key, group, now)
        ]
        return [self._take_message(key, now) for key in ready]

    def take_all(self, now: datetime) -> list[Message]:
        """Remove and return all messages, due or not: at the end of a process."""
        return [self._take_message(key, now) for key in list(self._groups)]

    def _is_due(self, key: Key, group: _Group, now: datetime) -> bool:
        if now < group.since + self._window:
            return False
        last = self._denied.get(key)
        return not (group.is_only_denials and last is not None and now < last + self._denials)

    def _take_message(self, key: Key, now: datetime) -> Message:
        group = self._groups.pop(key)
        if any(event.kind is Kind.DENIED for event in group.events):
            self._denied = {
                each: at for each, at in self._denied.items() if at + self._denials > now
            }
            self._denied[key] = now
        return Message(*key, tuple(group.events), group.more)


def group_name_of(event: Event) -> str:
    """Return the name of the group of *event*."""
    if event.ticket:
        return event.ticket
    return event.application or event.namespace or event.cluster or "cluster"


def targets_of(event: Event, document: Document) -> tuple[str, ...]:
    """Return the names of the targets that *event* goes to, each once."""
    return tuple(dict.fromkeys(_match_routes(event, document.routes)))


def _match_routes(event: Event, routes: Iterable[Route]) -> Iterator[str]:
    for route in routes:
        if _matches_route(event, route):
            yield from route.targets
            if not route.also:
                return


def _matches_route(event: Event, route: Route) -> bool:
    bare = event.application.rpartition("/")[2]
    wanted = (
        (route.namespaces, {event.namespace}),
        (route.applications, {event.application, bare}),
        (route.engines, {event.engine}),
        (route.teams, {event.team}),
        (route.clusters, {event.cluster}),
    )
    if route.events and event.kind not in route.events:
        return False
    return all(
        not patterns or any(name in names_of(patterns) for name in found if name)
        for patterns, found in wanted
    )


def is_silenced(event: Event, silences: Iterable[Silence], now: datetime) -> bool:
    """Return whether the ticket of *event* is silenced."""
    return bool(event.ticket) and any(
        now < silence.until and event.ticket in names_of([silence.ticket]) for silence in silences
    )


class MessageSink(Protocol):
    """Accepts the messages for one target."""

    def put(self, message: Message) -> None:
        """Queue *message*."""

    def close(self) -> None:
        """Send what is queued, within a time limit."""


class Notifier:
    """Routes events by a document that may change. Belongs to one thread."""

    def __init__(self, document: Document, open_sender: Callable[[Target], MessageSink]) -> None:
        self._open_sender = open_sender
        self._document = document
        self._senders: dict[Target, MessageSink] = {}
        self._groups = Groups(document.window_length, document.denials_length)
        self.follow(document)

    def follow(self, document: Document) -> None:
        """Use *document* from now on; what is grouped or queued stays so."""
        for target in self._senders.keys() - {*document.targets}:
            self._senders.pop(target).close()
        for target in document.targets:
            if target not in self._senders:
                self._senders[target] = self._open_sender(target)
        self._document = document
        self._groups.set_windows(document.window_length, document.denials_length)

    def take(self, events: Iterable[Event], now: datetime) -> None:
        """Add *events*, and queue the messages that are due."""
        for event in events:
            if not is_silenced(event, self._document.silences, now):
                for target in targets_of(event, self._document):
                    self._groups.add(event, target, now)
        self._send(self._groups.take_due(now))

    def close(self, now: datetime) -> None:
        """Send what was grouped, and end."""
        self._send(self._groups.take_all(now))
        for sender in self._senders.values():
            sender.close()

    def _send(self, messages: Iterable[Message]) -> None:
        senders = {target.name: sender for target, sender in self._senders.items()}
        for message in messages:
            # A target that was removed from the file meanwhile gets no more messages.
            if message.target in senders:
                senders[message.target].put(message)
