"""From events to messages on their way: silenced, routed, gathered, handed to the senders."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol

from correlator.notify.document import Document, Target
from correlator.notify.event import Event
from correlator.notify.grouping import Groups, Message
from correlator.notify.routing import is_silenced, targets_of


class Sends(Protocol):
    """Where messages for one target go."""

    def put(self, message: Message) -> None:
        """Have *message* sent."""

    def close(self) -> None:
        """Send what waits, for a while."""


class Notifier:
    """Tells people by a document that may change. Belongs to one thread."""

    def __init__(self, document: Document, open_sender: Callable[[Target], Sends]) -> None:
        self._open_sender = open_sender
        self._document = document
        self._senders: dict[Target, Sends] = {}
        self._groups = Groups(document.window_length, document.denials_length)
        self.follow(document)

    def follow(self, document: Document) -> None:
        """Go by *document* from now on; what is gathered, and on its way, stays so."""
        for target in self._senders.keys() - {*document.targets}:
            self._senders.pop(target).close()
        for target in document.targets:
            if target not in self._senders:
                self._senders[target] = self._open_sender(target)
        self._document = document
        self._groups.pace(document.window_length, document.denials_length)

    def take(self, events: Iterable[Event], now: datetime) -> None:
        """Take *events* up; what is due by now is on its way afterwards."""
        for event in events:
            if not is_silenced(event, self._document.silences, now):
                for target in targets_of(event, self._document):
                    self._groups.add(event, target, now)
        self._send(self._groups.due(now))

    def close(self, now: datetime) -> None:
        """Tell what was gathered, and end."""
        self._send(self._groups.all(now))
        for sender in self._senders.values():
            sender.close()

    def _send(self, messages: Iterable[Message]) -> None:
        senders = {target.name: sender for target, sender in self._senders.items()}
        for message in messages:
            # A target that was taken out of the file meanwhile is told nothing more.
            if message.target in senders:
                senders[message.target].put(message)
