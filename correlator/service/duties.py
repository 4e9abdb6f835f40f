"""The duties of the replica that leads: what it does after each pass.

It deletes old episodes, so that the database does not grow without bound. It publishes the state of
grants to Prometheus, and the end of a grant as an Event on the object. It notifies people, as the
notifications file configures.

To add a duty: a function that takes the `Tools` and returns what is called after each pass, and its
line in `DUTIES`. A duty that raises is logged and counted, and does not stop the others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

import structlog

from correlator.grants import (
    FollowUps,
    Grant,
    Key,
    count_by_state,
    expiry_event_of,
    expiry_name_of,
    find_expired,
    grant_attempts_since,
    key_of,
)
from correlator.live.lookup import LiveObjects
from correlator.notify.config import Document, NotificationsInvalid, parse_notifications
from correlator.notify.events import Configurations, Event, EventFeed, events_of_findings
from correlator.notify.routing import Notifier
from correlator.notify.send import Outcome, Sender
from correlator.service import metrics
from correlator.service.model import Passed, Tools
from correlator.still_live import Answer, FieldCheck, FieldState, LiveCheck, Lookup, NotKnown
from glasswarden.cluster.client import ApiServer, ApiServerError, Conflict
from glasswarden.kube.events import Reporter, manifest_of, url_of
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField
from glasswarden.reloaded import Reloaded

FORGET_EVERY: Final = timedelta(hours=1)
MOST: Final = 100_000
"""Resolved episodes that are kept at most, whatever their age: a field that flaps makes many."""

log = structlog.get_logger()


def new_forget(tools: Tools) -> Callable[[Passed], None]:
    """Return the duty that deletes old episodes, once an hour."""
    last: datetime | None = None

    def forget(passed: Passed) -> None:
        nonlocal last
        if last is not None and passed.now - last < FORGET_EVERY:
            return
        before = passed.now - tools.settings.retention
        if forgotten := tools.history.forget(passed.term, before, MOST):
            log.info("episodes deleted", episodes=forgotten)
        last = passed.now

    return forget


GRANTS_EVERY: Final = timedelta(seconds=30)
GRANTS_LOOK_BACK: Final = timedelta(days=30)
"""Grants without a record for longer are not inspected; `glasswarden grants` does the same."""

CONTROLLER: Final = "glasswarden.io/correlator"


def new_grants(tools: Tools) -> Callable[[Passed], None]:
    """Return the duty that inspects grants, every 30 seconds."""
    follow_ups, git = FollowUps(), [tools.repository_of(each) for each in tools.settings.sources]
    expiries = Expiries(tools.server, Reporter(CONTROLLER, tools.settings.identity or "correlator"))
    last: datetime | None = None

    def grants(passed: Passed) -> None:
        nonlocal last
        if last is not None and passed.now - last < GRANTS_EVERY:
            return
        last = passed.now
        story = grant_attempts_since(tools.ledger, passed.now - GRANTS_LOOK_BACK, passed.cluster)
        for each in git:
            each.expire()
        check = new_field_check(LiveObjects(tools.server), declared_by(git), tools.masks)
        found = follow_ups.check(story, check, passed.now)
        metrics.show_grants(count_by_state(found, passed.now))
        expiries.publish(find_expired(found, passed.now), passed.now)

    return grants


class Expiries:
    """Publishes the end of each grant once, also among several replicas."""

    def __init__(self, server: ApiServer, reporter: Reporter) -> None:
        self._server = server
        self._reporter = reporter
        self._published: set[Key] = set()

    def publish(self, grants: Sequence[Grant], now: datetime) -> None:
        """Publish the end of those *grants* that is not published yet; retry after a failure."""
        self._published &= {key_of(grant) for grant in grants}
        for grant in grants:
            if key_of(grant) not in self._published and self._write(grant, now):
                self._published.add(key_of(grant))

    def _write(self, grant: Grant, now: datetime) -> bool:
        event = expiry_event_of(grant)
        manifest = manifest_of(event, expiry_name_of(grant), self._reporter, now)
        try:
            self._server.create(url_of(event), manifest)
        except Conflict:
            return True
        except ApiServerError as error:
            log.warning("expiry not published", object=grant.subject, reason=str(error))
            return False
        return True


def new_field_check(live: Lookup, declared: Lookup, masks: Masks | None) -> FieldCheck:
    """Return a check that reads Git only if a change is still live: reading it takes long."""
    in_cluster, in_git_too = LiveCheck(live, None, masks), LiveCheck(live, declared, masks)

    def check_field(attempt: Attempt, change: ChangedField) -> FieldState:
        found = in_cluster(attempt, change)
        return found if found.live is Answer.NO else in_git_too(attempt, change)

    return check_field


def declared_by(repositories: Sequence[Lookup]) -> Lookup:
    """Return a lookup in all of *repositories*.

    While one of them cannot be read, what none of the others declares is not known.
    """

    def find_declared(ref: Ref) -> Object | None:
        unread: NotKnown | None = None
        for each in repositories:
            try:
                found = each(ref)
            except NotKnown as error:
                unread = error
                continue
            if found is not None:
                return found
        if unread is not None:
            raise unread
        return None

    return find_declared


NOTIFY_LOOK_BACK: Final = timedelta(minutes=2)
"""What happened shortly before the first pass is notified too, as the leader before may have missed
it. A repeated message is better than none."""

CONFIGURATIONS: Final = tuple(
    f"/apis/admissionregistration.k8s.io/v1/{resource}/glasswarden"
    for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
)


def new_notify(tools: Tools) -> Callable[[Passed], None]:
    """Return the duty that notifies people; without a file it notifies nobody."""
    file = tools.settings.notifications
    return (lambda _: None) if file is None else _Notify(tools, file)


@dataclass(slots=True)
class _Notify:
    """The duty, and what it remembers between passes."""

    tools: Tools
    file: Path
    _document: Reloaded[Document | None] = field(init=False)
    _notifier: Notifier | None = field(default=None, init=False)
    _news: EventFeed | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Go by the file as it is; one that is broken changes nothing."""
        self._document = Reloaded(
            None,
            self.file.read_text,
            parse_notifications,
            on_change=self._follow,
            on_error=self._report,
            quoted=(OSError, UnicodeDecodeError, NotificationsInvalid),
        )

    def __call__(self, passed: Passed) -> None:
        self._document.refresh()
        if self._notifier is None:
            return
        self._news = self._news or EventFeed(passed.now - NOTIFY_LOOK_BACK)
        self._notifier.take(self._events(self._news, passed), passed.now)

    def _report(self, reason: str) -> None:
        log.warning("notifications not reloaded", file=str(self.file), reason=reason)

    def _follow(self, document: Document | None) -> None:
        if document is None:
            return
        if self._notifier is None:
            self._notifier = Notifier(document, lambda target: Sender(target, _count))
        else:
            self._notifier.follow(document)

    def _events(self, news: EventFeed, passed: Passed) -> Iterator[Event]:
        state = _state_in_pass(passed)
        yield from news.read_ledger(self.tools.ledger, passed.cluster, state, passed.now)
        found = ((each.finding, each.team) for each in passed.found)
        yield from events_of_findings(found, passed.cluster, passed.now)
        yield from news.compare_configurations(self._configurations(), passed.cluster, passed.now)

    def _configurations(self) -> Configurations:
        """Return our webhook configurations; nothing where they cannot be read."""
        try:
            return {path: self.tools.server.get_or_none(path) for path in CONFIGURATIONS}
        except ApiServerError as error:
            log.info("webhook configurations not read", reason=str(error))
            return {}


def _state_in_pass(passed: Passed) -> Callable[[Attempt, ChangedField], FieldState]:
    """Return a check whether a change is still live, from the findings of this pass."""
    live = {each.last.record for each in passed.open if each.last.record}

    def check_field(attempt: Attempt, _: ChangedField) -> FieldState:
        return FieldState(Answer.YES if attempt.id in live else Answer.NO)

    return check_field


def _count(target: str, outcome: Outcome) -> None:
    metrics.NOTIFICATIONS.labels(target, outcome.value).inc()


Duty: TypeAlias = Callable[[Passed], None]

DUTIES: Final[dict[str, Callable[[Tools], Duty]]] = {
    "forget": new_forget,
    "grants": new_grants,
    "notify": new_notify,
}
"""Each by the name that logs and metrics give it, in the order they are done."""
