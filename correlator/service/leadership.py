"""Whether we lead, kept up by a thread of its own: a pass may take longer than a lease lasts."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from glasswarden.cluster.lease import Lease
from glasswarden.cluster.objects import ClusterError

TURNS: Final = 5
"""How often a lease is looked at, or renewed, while it lasts."""

log = structlog.get_logger()


class Leadership:
    """One replica's part in a lease."""

    def __init__(self, lease: Lease, on_gain: Callable[[], None]) -> None:
        self._lease = lease
        self._seconds = lease.duration.total_seconds()
        self._on_gain = on_gain
        self._until = 0.0
        self._seen = 0.0
        """When the lease was last looked at."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def start(self) -> None:
        """Begin to compete."""
        self._thread.start()

    def stop(self) -> None:
        """Let another lead at once, if we do."""
        self._stop.set()
        self._thread.join(self._seconds)
        self._until = 0.0
        try:
            self._lease.release(datetime.now(UTC))
        except (ClusterError, OSError) as error:
            log.warning("lease not released", reason=str(error))

    @property
    def is_held(self) -> bool:
        """Whether we lead; by our own clock, which stands for as long as nobody else may."""
        return time.monotonic() < self._until

    @property
    def is_well(self) -> bool:
        """Whether we know who leads."""
        return time.monotonic() < self._seen + self._seconds

    def _keep(self) -> None:
        while not self._stop.is_set():
            self._turn()
            self._stop.wait(self._seconds / TURNS)

    def _turn(self) -> None:
        led, began = self.is_held, time.monotonic()
        try:
            held = self._lease.hold(datetime.now(UTC))
        except (ClusterError, OSError) as error:
            # What we hold runs out by itself.
            log.warning("lease out of reach", reason=str(error))
            return
        self._seen = time.monotonic()
        # From before the request: the others count from when they see it renewed.
        self._until = began + self._seconds if held else 0.0
        if held and not led:
            log.info("leading", lease=self._lease.name, identity=self._lease.identity)
            self._on_gain()
        elif led and not held:
            log.info("standing by", lease=self._lease.name, identity=self._lease.identity)
