"""People are told what concerns them, as the notifications file says."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog

from correlator.notify.document import Document, NotificationsInvalid, parse_notifications
from correlator.notify.event import Event
from correlator.notify.news import Configurations, News, unexplained
from correlator.notify.notifier import Notifier
from correlator.notify.sender import Outcome, Sender
from correlator.service import metrics
from correlator.service.passed import Passed
from correlator.service.tools import Tools
from correlator.standing import Answer, Standing
from glasswarden.cluster.objects import ClusterError
from glasswarden.ledger.record import Attempt, ChangedField

LOOK_BACK: Final = timedelta(minutes=2)
"""What happened shortly before the first pass is told too: a leader that ends tells no more. It may
be told twice then; better than never."""

CONFIGURATIONS: Final = tuple(
    f"/apis/admissionregistration.k8s.io/v1/{resource}/glasswarden"
    for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
)

log = structlog.get_logger()


def new_notify(tools: Tools) -> Callable[[Passed], None]:
    """Return what tells people; nobody is told where no file says whom."""
    file = tools.settings.notifications
    return (lambda _: None) if file is None else _Notify(tools, file)


@dataclass(slots=True)
class _Notify:
    """The duty, and what it remembers between passes."""

    tools: Tools
    file: Path
    _text: str = field(default="", init=False)
    _notifier: Notifier | None = field(default=None, init=False)
    _news: News | None = field(default=None, init=False)

    def __call__(self, passed: Passed) -> None:
        self._read_file()
        if self._notifier is None:
            return
        self._news = self._news or News(passed.now - LOOK_BACK)
        self._notifier.take(self._events(self._news, passed), passed.now)

    def _read_file(self) -> None:
        """Go by the file as it is; one that is broken changes nothing."""
        try:
            text = self.file.read_text()
            if text == self._text:
                return
            self._text = text
            self._follow(parse_notifications(text))
        except (OSError, UnicodeDecodeError, NotificationsInvalid) as error:
            log.warning("notifications not reloaded", file=str(self.file), reason=str(error))

    def _follow(self, document: Document) -> None:
        if self._notifier is None:
            self._notifier = Notifier(document, lambda target: Sender(target, _count))
        else:
            self._notifier.follow(document)

    def _events(self, news: News, passed: Passed) -> Iterator[Event]:
        standing = _standing(passed)
        yield from news.of_ledger(self.tools.ledger, passed.cluster, standing, passed.now)
        found = ((each.finding, each.team) for each in passed.found)
        yield from unexplained(found, passed.cluster, passed.now)
        yield from news.of_configurations(self._configurations(), passed.cluster, passed.now)

    def _configurations(self) -> Configurations:
        """Return our webhook configurations; nothing where we may not, or cannot, look."""
        try:
            return {path: self.tools.objects.get_or_none(path) for path in CONFIGURATIONS}
        except ClusterError as error:
            log.info("webhook configurations not looked at", reason=str(error))
            return {}


def _standing(passed: Passed) -> Callable[[Attempt, ChangedField], Standing]:
    """Return what tells whether a change is still live: this pass has just looked."""
    owed = {each.last.record for each in passed.open if each.last.record}

    def standing(attempt: Attempt, _: ChangedField) -> Standing:
        return Standing(Answer.YES if attempt.id in owed else Answer.NO)

    return standing


def _count(target: str, outcome: Outcome) -> None:
    metrics.NOTIFICATIONS.labels(target, outcome.value).inc()
