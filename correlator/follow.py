"""Passes one after another, each at the cost of what changed since.

The first pass lists; from then on a watch of each declared kind tells what to look at again. A
watch that loses its place, or a change in Git, means a full pass, and so does the passing of time:
orphans are only looked for then.
"""

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final

from correlator.classify import Scene
from correlator.finding import Result
from correlator.live.cluster import ClusterLive
from correlator.live.source import Kind, KindUnavailable
from correlator.scan import Scan
from glasswarden.cluster.apiserver import ApiServer, ApiServerError

FULL_SECONDS: Final = 300.0
"""After so long everything is looked at again."""
REST_SECONDS: Final = 10.0
"""Before that, a watch that was lost is no reason to look at everything again."""

_LOST: Final = "lost"


class Follower:
    """Keeps one scan up to date. Belongs to one thread."""

    def __init__(
        self,
        server: ApiServer,
        new_scan: Callable[[], tuple[Scan, ClusterLive]],
        fingerprint: Callable[[], object],
    ) -> None:
        self._server = server
        self._new_scan = new_scan
        self._fingerprint = fingerprint
        self._seen: object = None
        self._scan: Scan | None = None
        self._watches: dict[Kind, _Watch] = {}
        self._result: Result | None = None
        self._full_at = 0.0
        self._is_lost = False
        """Whether something may have changed that no watch told."""

    def run(self, scene: Scene) -> Result:
        """Return what a pass finds now."""
        print_ = self._fingerprint()
        if self._scan is None or self._result is None or not self._is_current(print_):
            return self._run_in_full(print_, scene)
        if self._took_changes():
            self._result = self._scan.result(self._scan.scene(scene))
        return self._result

    def close(self) -> None:
        """Stop watching."""
        for watch in self._watches.values():
            watch.stop()
        self._watches = {}

    def _is_current(self, print_: object) -> bool:
        limit = REST_SECONDS if self._is_lost else FULL_SECONDS
        return time.monotonic() - self._full_at < limit and print_ == self._seen

    def _took_changes(self) -> bool:
        """Look at what changed; tell whether anything did."""
        changed = False
        for kind, watch in self._watches.items():
            for event in watch.events():
                if event is _LOST:
                    self._is_lost = True
                else:
                    changed |= self._take(kind, event)
        return changed

    def _take(self, kind: Kind, event: dict[str, Any]) -> bool:
        metadata = event["object"]["metadata"]
        key = metadata.get("namespace", ""), metadata.get("name", "")
        if self._scan is None or key not in self._scan.declared[kind]:
            return False
        self._scan.judge(kind, key, None if event["type"] == "DELETED" else event["object"])
        return True

    def _run_in_full(self, print_: object, scene: Scene) -> Result:
        self.close()
        self._full_at, self._seen, self._is_lost = time.monotonic(), print_, False
        self._scan, live = self._new_scan()
        self._scan.run()
        self._result = self._scan.result(self._scan.scene(scene))
        for kind in self._scan.declared:
            try:
                url = live.resource_of(kind).url(live.namespace)
                self._watches[kind] = _Watch(self._server, url, live.versions[kind])
            except (KindUnavailable, KeyError):
                self._is_lost = True  # it could not be listed: a later pass tries again
        return self._result


class _Watch:
    """Follows one kind in a thread of its own, until it loses its place or is stopped."""

    def __init__(self, server: ApiServer, url: str, version: str) -> None:
        self._server = server
        self._url = url
        self._version = version
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

    def _follow(self) -> None:
        try:
            while not self._stopped.is_set():
                for event in self._server.watch(self._url, self._version, "application/json"):
                    if self._stopped.is_set() or event["type"] == "ERROR":
                        self._queue.put(_LOST)
                        return
                    self._version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._queue.put(event)
        except (ApiServerError, KeyError, ValueError):
            self._queue.put(_LOST)
