"""Tells of grants and refusals, as Kubernetes Events, aside from the reviews.

A review puts an Event into a bounded queue and goes on; a thread of the process writes it. Where
that cannot keep up, or the API server is away, Events are dropped and counted: they are a courtesy,
the ledger has everything. What happens again within some minutes is counted in the Event that tells
of it already, as the API server's own components do.
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

CONTROLLER: Final = "glasswarden.io/webhook"

MOST_WAITING: Final = 500
"""Events that wait to be written."""

MOST_A_SECOND: Final = 10
"""Events that a process writes: etcd keeps each of them for an hour."""

SERIES_SECONDS: Final = 360.0
"""How long a series goes on after its last Event; client-go has the same."""

SERIES_PAUSE: Final = 5.0
"""A series that grows is written at most so often."""

TRIES: Final = 4
FIRST_PAUSE: Final = 1.0
CLOSING_SECONDS: Final = 1.0

log = structlog.get_logger()


class Sink(Protocol):
    """Where Events are written to."""

    def create(self, path: str, manifest: dict[str, Any]) -> object:
        """Create an object in the collection at *path*."""

    def merge(self, path: str, patch: dict[str, Any]) -> object:
        """Merge *patch* into the object at *path*."""


@dataclass(slots=True)
class _Told:
    """An Event that has been written, and what has happened since."""

    name: str
    begun: datetime
    last: datetime
    due: float
    """When it may be written again, by the monotonic clock."""
    count: int = 1
    written: int = 1
    """How many of them the API server knows of."""

    def again(self, moment: datetime) -> None:
        self.count += 1
        self.last = moment

    def is_due(self, now: float) -> bool:
        return self.count > self.written and now >= self.due

    def is_over(self, now: float) -> bool:
        return self.count == self.written and now >= self.due + SERIES_SECONDS


class Herald:
    """Writes Events from a thread of its own; `tell` never waits, and never fails."""

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
        self._told: dict[Event, _Told] = {}
        self._reporter = Reporter(CONTROLLER, f"{socket.gethostname()}-{os.getpid()}")
        self._complaint = ""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to write; the thread ends with the process at the latest."""
        self._thread = threading.Thread(target=self._run, name="herald", daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        """Have *event* written some time soon, or not at all."""
        try:
            self._waiting.put_nowait((event, datetime.now(UTC)))
        except queue.Full:
            EVENTS.labels("dropped").inc()

    def close(self) -> None:
        """Write what waits, as far as a moment suffices."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(CLOSING_SECONDS)

    def work(self) -> None:
        """Write a second's share of what waits, and of the series that have grown."""
        share = MOST_A_SECOND
        while share and not self._waiting.empty():
            event, moment = self._waiting.get_nowait()
            if event in self._told:
                self._told[event].again(moment)
            else:
                self._write(event, moment)
                share -= 1
        now = self._clock()
        self._told = {event: told for event, told in self._told.items() if not told.is_over(now)}
        grown = [(event, told) for event, told in self._told.items() if told.is_due(now)]
        for event, told in grown[:share]:
            self._write_series(event, told)

    def _run(self) -> None:
        while not self._closing.is_set():
            self.work()
            self._wait(1.0)
        self.work()

    def _write(self, event: Event, moment: datetime) -> None:
        name = name_of(event, os.urandom(8).hex())

        def write() -> None:
            manifest = manifest_of(event, name, self._reporter, moment)
            self._sink.create(url_of(event), manifest)

        if self._try(write):
            self._told[event] = _Told(name, moment, moment, self._clock() + SERIES_PAUSE)

    def _write_series(self, event: Event, told: _Told) -> None:
        series = Series(told.count, told.last)

        def write() -> None:
            try:
                self._sink.merge(url_of(event, told.name), series_of(series))
            except NotFound:
                # Somebody deleted it, or its hour is over.
                manifest = manifest_of(event, told.name, self._reporter, told.begun, series)
                self._sink.create(url_of(event), manifest)

        self._try(write)
        told.written, told.due = told.count, self._clock() + SERIES_PAUSE

    def _try(self, write: Callable[[], None]) -> bool:
        """Write; wait for an API server that is away, but not for long. Tell whether it worked."""
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
                self._complaint = ""
                return True
        return False

    def _fail(self, error: Exception) -> bool:
        EVENTS.labels("failed").inc()
        kind = type(error).__name__
        if kind != self._complaint:
            reason = str(error) if isinstance(error, ApiServerError) else kind
            log.warning("event not written", reason=reason)
        self._complaint = kind
        return False
