"""Passes one after another, each at the cost of what changed since.

The first pass lists; from then on a watch of each declared kind gives what to inspect again. A
watch that loses its place, or a change in Git, means a full pass, and so does the passing of time:
orphans are only searched then.
"""

import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple

import structlog

from correlator.classify.rule import Scene
from correlator.finding import Result
from correlator.inspection.scan import Key, Scan
from correlator.linker import Linking, leave_unlinked
from correlator.live.cluster import ClusterLive
from correlator.live.source import Kind, KindUnavailable
from glasswarden.cluster.client import ApiServer, ApiServerError

FULL_SECONDS: Final = 300.0
"""After so long everything is inspected again."""
REST_SECONDS: Final = 30.0
"""Before that, a watch that was lost is no reason to inspect everything again."""
WATCH_SECONDS: Final = 60
"""How long one request of a watch lasts; so long lives one that is no longer needed."""

_LOST: Final = "lost"

log = structlog.get_logger()


class Follower:
    """Keeps one scan up to date. Belongs to one thread."""

    def __init__(
        self,
        server: ApiServer,
        new_scan: Callable[[], tuple[Scan, ClusterLive]],
        fingerprint: Callable[[], object],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """Follow; *on_change* is called, by any thread, when a pass would find something new."""
        self._server = server
        self._new_scan = new_scan
        self._fingerprint = fingerprint
        self._on_change = on_change
        self._seen: object = None
        self._scan: Scan | None = None
        self._watches: dict[Kind, _Watch] = {}
        self._result: Result | None = None
        self._linker: Linking = leave_unlinked
        self._scene: Scene | None = None
        self._grants: object = None
        """The grants that were open when the last result was judged."""
        self._full_at = 0.0
        self._is_lost = False
        """Whether something may have changed that no watch delivered."""

    def run(self, scene: Scene, linker: Linking = leave_unlinked) -> Result:
        """Return what a pass finds now.

        Another *linker* than last time may know more, and a grant may have ended since.
        """
        print_, grants = self._fingerprint(), dict(scene.open_grants)
        if self._scan is None or self._result is None or not self._is_current(print_):
            self._scan = self._scan_and_watch(print_)
        elif not self._took_changes() and linker is self._linker and grants == self._grants:
            return self._result
        self._linker, self._grants, self._result = linker, grants, None
        self._scene = self._scan.scene(scene)
        self._result = self._scan.result(self._scene, linker)
        return self._result

    @property
    def last(self) -> tuple[Scan, Scene] | None:
        """The scan of the last pass, and what its findings were judged by; none if it failed."""
        return None if self._scan is None or self._scene is None else (self._scan, self._scene)

    def close(self) -> None:
        """Stop watching."""
        for watch in self._watches.values():
            watch.stop()
        self._watches = {}

    def _is_current(self, print_: object) -> bool:
        limit = REST_SECONDS if self._is_lost else FULL_SECONDS
        return time.monotonic() - self._full_at < limit and print_ == self._seen

    def _took_changes(self) -> bool:
        """Inspect what changed; return whether anything did."""
        changed = False
        for kind, watch in self._watches.items():
            for event in watch.events():
                if event is _LOST:
                    self._lose()
                else:
                    changed |= self._take(kind, event)
        return changed

    def _lose(self) -> None:
        """Have everything inspected again soon: no watch will trigger it."""
        if not self._is_lost:
            self._is_lost = True
            timer = threading.Timer(REST_SECONDS, self._on_change)
            timer.daemon = True
            timer.start()

    def _take(self, kind: Kind, event: dict[str, Any]) -> bool:
        if self._scan is None:
            return False
        live = None if event["type"] == "DELETED" else event["object"]
        self._scan.judge(kind, _key_of(event), live)
        return True

    def _scan_and_watch(self, print_: object) -> Scan:
        """Inspect everything, and watch it from then on."""
        self.close()
        # Should this pass fail, nothing of an earlier one may stand for it.
        self._scan = self._result = None
        scan, live = self._new_scan()
        scan.run()
        self._full_at, self._seen, self._is_lost = time.monotonic(), print_, False
        for kind, places in scan.declared.items():
            try:
                url = live.resource_of(kind).url(live.namespace)
                place = _WatchStart(url, live.versions[kind], frozenset(places))
                self._watches[kind] = _Watch(self._server, place, self._on_change)
            except (KindUnavailable, KeyError):
                self._lose()  # it could not be listed: a later pass tries again
        return scan


class _WatchStart(NamedTuple):
    """Where a watch begins, and which of its events count."""

    url: str
    version: str
    keys: frozenset[Key]


def _key_of(event: dict[str, Any]) -> Key:
    metadata = event["object"]["metadata"]
    return metadata.get("namespace", ""), metadata.get("name", "")


class _Watch:
    """Follows one kind in a thread of its own, until it loses its place or is stopped."""

    def __init__(
        self, server: ApiServer, place: _WatchStart, on_change: Callable[[], None]
    ) -> None:
        self._server = server
        self._url, self._version, self._keys = place
        self._on_change = on_change
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._stopped = threading.Event()
        threading.Thread(target=self._follow, daemon=True).start()

    def events(self) -> list[Any]:
        """Return what happened since the last call."""
        events = []
        while True:
            try:
                events.append(self._queue.get_nowait())
            except Empty:
                return events

    def stop(self) -> None:
        """Take no more events; the connection ends with its time."""
        self._stopped.set()

    def _events(self) -> Iterator[dict[str, Any]]:
        return self._server.watch(self._url, self._version, "application/json", WATCH_SECONDS)

    def _follow(self) -> None:
        try:
            while not self._stopped.is_set():
                for event in self._events():
                    if self._stopped.is_set() or event["type"] == "ERROR":
                        self._put(_LOST)
                        return
                    self._version = event["object"]["metadata"]["resourceVersion"]
                    # What nobody declares is dropped here: a busy cluster must not fill the queue.
                    if event["type"] != "BOOKMARK" and _key_of(event) in self._keys:
                        self._put(event)
        except Exception as error:  # noqa: BLE001 - the outermost edge of the thread
            if not isinstance(error, ApiServerError):
                log.warning("watch broken", url=self._url, reason=type(error).__name__)
            self._put(_LOST)

    def _put(self, event: object) -> None:
        self._queue.put(event)
        if not self._stopped.is_set():
            self._on_change()
