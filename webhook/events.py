"""Publishes grants and denials as Kubernetes Events, asynchronously to the reviews.

A review puts an Event into a bounded queue and continues; a thread of the process writes it. If the
thread is too slow or the API server is unavailable, Events are dropped and counted: the ledger has
everything, Events are additional. A repetition within some minutes is counted in the Event that
already exists, as the API server's own components do.
"""

import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import structlog

from glasswarden.cluster.client import ApiServerError, NotFound, Unreachable
from glasswarden.kube.events import Event, Reporter, Series, manifest_of, name_of, series_of, url_of
from webhook.metrics import EVENTS

REPORTING_CONTROLLER: Final = "glasswarden.io/webhook"

MOST_WAITING: Final = 500
"""Events in the queue."""

MOST_A_SECOND: Final = 10
"""Events that a process writes per second: etcd keeps each of them for an hour."""

SERIES_SECONDS: Final = 360.0
"""Seconds until a series ends after its last Event, as in client-go."""

SERIES_PAUSE: Final = 5.0
"""Seconds between two updates of a growing series."""

TRIES: Final = 4
FIRST_PAUSE: Final = 1.0
CLOSING_SECONDS: Final = 1.0

log = structlog.get_logger()


class Sink(Protocol):
    """The API server, as a destination of Events."""

    def create(self, path: str, manifest: dict[str, Any]) -> object:
        """Create an object in the collection at *path*."""

    def merge(self, path: str, patch: dict[str, Any]) -> object:
        """Merge *patch* into the object at *path*."""


@dataclass(slots=True)
class _PublishedEvent:
    """An Event that was written, and its repetitions since."""

    name: str
    begun: datetime
    last: datetime
    due: float
    """When the series may be updated, by the monotonic clock."""
    count: int = 1
    written: int = 1
    """How many of them were sent to the API server."""

    def count_recurrence(self, moment: datetime) -> None:
        self.count += 1
        self.last = moment

    def is_due(self, now: float) -> bool:
        return self.count > self.written and now >= self.due

    def is_over(self, now: float) -> bool:
        return self.count == self.written and now >= self.due + SERIES_SECONDS


class EventPublisher:
    """Writes Events from its own thread; `publish` never blocks and never raises."""

    def __init__(
        self,
        sink: Sink,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._sink = sink
        self._clock = clock
        self._closing = threading.Event()
        self._wait = wait or self._closing.wait
        self._waiting: queue.Queue[tuple[Event, datetime]] = queue.Queue(MOST_WAITING)
        self._published: dict[Event, _PublishedEvent] = {}
        self._reporter = Reporter(REPORTING_CONTROLLER, f"{socket.gethostname()}-{os.getpid()}")
        self._last_failure = ""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; it ends with the process at the latest."""
        self._thread = threading.Thread(target=self._run, name="event-publisher", daemon=True)
        self._thread.start()

    def publish(self, event: Event) -> None:
        """Queue *event*; drop and count it if the queue is full."""
        try:
            self._waiting.put_nowait((event, datetime.now(UTC)))
        except queue.Full:
            EVENTS.labels("dropped").inc()

    def close(self) -> None:
        """Stop; wait at most a second for queued Events to be written."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(CLOSING_SECONDS)

    def publish_waiting(self) -> None:
        """Write as many queued Events and grown series as one second allows."""
        share = MOST_A_SECOND
        while share and not self._waiting.empty():
            event, moment = self._waiting.get_nowait()
            if event in self._published:
                self._published[event].count_recurrence(moment)
            else:
                self._write(event, moment)
                share -= 1
        now = self._clock()
        self._published = {
            event: known for event, known in self._published.items() if not known.is_over(now)
        }
        grown = [(event, known) for event, known in self._published.items() if known.is_due(now)]
        for event, known in grown[:share]:
            self._write_series(event, known)

    def _run(self) -> None:
        while not self._closing.is_set():
            self.publish_waiting()
            self._wait(1.0)
        self.publish_waiting()

    def _write(self, event: Event, moment: datetime) -> None:
        name = name_of(event, os.urandom(8).hex())

        def write() -> None:
            manifest = manifest_of(event, name, self._reporter, moment)
            self._sink.create(url_of(event), manifest)

        if self._try(write):
            self._published[event] = _PublishedEvent(
                name, moment, moment, self._clock() + SERIES_PAUSE
            )

    def _write_series(self, event: Event, known: _PublishedEvent) -> None:
        series = Series(known.count, known.last)

        def write() -> None:
            try:
                self._sink.merge(url_of(event, known.name), series_of(series))
            except NotFound:
                # It was deleted, or it has expired.
                manifest = manifest_of(event, known.name, self._reporter, known.begun, series)
                self._sink.create(url_of(event), manifest)

        self._try(write)
        known.written, known.due = known.count, self._clock() + SERIES_PAUSE

    def _try(self, write: Callable[[], None]) -> bool:
        """Write, with retries while the API server is unavailable; return whether it worked."""
        pause = FIRST_PAUSE
        for attempt in range(TRIES):
            try:
                write()
            except Unreachable as error:
                if attempt + 1 == TRIES or self._closing.is_set():
                    return self._fail(error)
                self._wait(pause)
                pause *= 2
            except Exception as error:  # noqa: BLE001 - one Event must not end the thread
                return self._fail(error)
            else:
                EVENTS.labels("written").inc()
                self._last_failure = ""
                return True
        return False

    def _fail(self, error: Exception) -> bool:
        EVENTS.labels("failed").inc()
        kind = type(error).__name__
        if kind != self._last_failure:
            reason = str(error) if isinstance(error, ApiServerError) else kind
            log.warning("event not published", reason=reason)
        self._last_failure = kind
        return False
