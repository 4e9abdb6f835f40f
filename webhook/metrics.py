"""What the webhook counts, over all of its processes.

No label grows without bound: names of people, objects and applications are in the ledger.
"""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_PREFIX: Final = "glasswarden-metrics-"


def _share_figures() -> None:
    """Make the folder that the processes share their figures in, until this process ends.

    prometheus_client looks for it at its first import; the processes that are forked later find the
    same one, and leave it alone when they end.
    """
    folder, maker = tempfile.mkdtemp(prefix=_PREFIX), os.getpid()
    os.environ[_VARIABLE] = folder

    def remove() -> None:
        if os.getpid() == maker:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)


# A folder of that name belongs to a program that started us: its figures are not ours. What is
# forked from here does not come by again.
if Path(os.environ.get(_VARIABLE, _PREFIX)).name.startswith(_PREFIX):
    _share_figures()

from prometheus_client import (  # noqa: E402 - see above
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric  # noqa: E402
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead  # noqa: E402
from prometheus_client.registry import Collector  # noqa: E402

from glasswarden.ledger.record import Entry  # noqa: E402
from glasswarden.policy.breakglass.tokens import Act  # noqa: E402

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

_REGISTRY: Final = CollectorRegistry()

REVIEWS: Final = Counter(
    "glasswarden_reviews_total",
    "Reviews answered, by verdict, deciding clause and mode",
    ["verdict", "clause", "mode"],
    registry=_REGISTRY,
)
GRANTS: Final = Counter(
    "glasswarden_grants_total",
    "Writes that asked for, used or ended a grant, by what they did",
    ["act"],
    registry=_REGISTRY,
)
EVENTS: Final = Counter(
    "glasswarden_events_total",
    "Kubernetes Events, by what became of them",
    ["outcome"],
    registry=_REGISTRY,
)
REFUSALS: Final = Counter(
    "glasswarden_refused_requests_total",
    "Requests that were no review of the API server's, by HTTP status",
    ["status"],
    registry=_REGISTRY,
)
HELD_WRITES: Final = Counter(
    "glasswarden_held_writes_total",
    "Writes of reconcilers in which fields stayed as they were, under a grant",
    registry=_REGISTRY,
)
POLICY_RELOADS: Final = Counter(
    "glasswarden_policy_reloads_total",
    "Times that the policy file changed, by whether it could be used",
    ["outcome"],
    registry=_REGISTRY,
)
POLICY_REFUSED: Final = Gauge(
    "glasswarden_policy_refused",
    "1 while the policy file as it is cannot be used, and earlier rules serve",
    registry=_REGISTRY,
    multiprocess_mode="livemax",
)
# With a label, though it has one value: without, the parent process, which serves nothing, would
# say 0 from its start on, and be the earliest of all.
CERTIFICATE_EXPIRY: Final = Gauge(
    "glasswarden_certificate_expiry_timestamp_seconds",
    "When the certificate stops being valid: the earliest of all processes",
    ["certificate"],
    registry=_REGISTRY,
    multiprocess_mode="livemin",
)
# Likewise; a process that has no key at all says so with 0.
GRANT_KEY: Final = Gauge(
    "glasswarden_grant_key_active_timestamp_seconds",
    "Since when the key signs that grants are stamped with, 0 without one: the earliest of all",
    ["key"],
    registry=_REGISTRY,
    multiprocess_mode="livemin",
)
STAMPS_REFUSED: Final = Counter(
    "glasswarden_stamps_refused_total",
    "Writes to objects that carry a stamp which no key verifies: it was revoked, or forged",
    registry=_REGISTRY,
)
LATENCY: Final = Histogram(
    "glasswarden_review_seconds",
    "Time from the whole request to its answer",
    registry=_REGISTRY,
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)

COMMIT_SECONDS: Final = Histogram(
    "glasswarden_commit_seconds",
    "Time until records were on a disk, by where they went",
    ["store"],
    registry=_REGISTRY,
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
COMMITTED_RECORDS: Final = Histogram(
    "glasswarden_commit_records",
    "Records that shared a commit",
    registry=_REGISTRY,
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)
LEDGER_AVAILABLE: Final = Gauge(
    "glasswarden_ledger_available",
    "1 while every process reaches the ledger, 0 while one does not",
    registry=_REGISTRY,
    multiprocess_mode="livemin",
)
SPOOL_RECORDS: Final = Gauge(
    "glasswarden_spool_records",
    "Records that wait in spools for the ledger",
    registry=_REGISTRY,
    multiprocess_mode="livesum",
)
SPOOL_BYTES: Final = Gauge(
    "glasswarden_spool_bytes",
    "Bytes that wait in spools for the ledger",
    registry=_REGISTRY,
    multiprocess_mode="livesum",
)
SPOOL_LIMIT: Final = Gauge(
    "glasswarden_spool_limit_bytes",
    "Bytes that may wait in spools, of all processes together",
    registry=_REGISTRY,
    multiprocess_mode="livesum",
)
SPOOL_AGE: Final = Gauge(
    "glasswarden_spool_oldest_seconds",
    "Age of the oldest record that waits in a spool, when it was last looked at",
    registry=_REGISTRY,
    multiprocess_mode="livemax",
)
UNRECORDED: Final = Counter(
    "glasswarden_unrecorded_writes_total",
    "Writes that could not be recorded at all, by what became of them",
    ["outcome"],
    registry=_REGISTRY,
)
CHAIN_SEQUENCE: Final = Gauge(
    "glasswarden_chain_head_sequence",
    "Places that the chains of all processes have come to, added up",
    registry=_REGISTRY,
    multiprocess_mode="livesum",
)
CHAIN_TIME: Final = Gauge(
    "glasswarden_chain_head_timestamp_seconds",
    "When the youngest record of all processes' chains was made",
    registry=_REGISTRY,
    multiprocess_mode="livemax",
)
CLOCK_JUMPS: Final = Counter(
    "glasswarden_clock_jumps_total",
    "Times that a process saw the machine's clock set by more than five seconds",
    registry=_REGISTRY,
)


# A counter that begins with its first event hides that event from `increase`: each begins at 0.
for _outcome in ("taken", "refused"):
    POLICY_RELOADS.labels(_outcome)
for _outcome in ("allowed", "refused"):
    UNRECORDED.labels(_outcome)
for _outcome in ("written", "dropped", "failed"):
    EVENTS.labels(_outcome)
for _act in Act:
    GRANTS.labels(_act)
for _status in (400, 403, 413, 415, 500, 503):
    REFUSALS.labels(_status)


class _Clock(Collector):
    """What the machine's clock shows when it is asked for: no process has to write it down."""

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "glasswarden_clock_timestamp_seconds", "What the webhook's clock shows", time.time()
        )


_REGISTRY.register(_Clock())


@cache
def commit_seconds(store: str) -> Histogram:
    """Return the histogram of commits to *store*: finding it anew takes longer than observing."""
    return COMMIT_SECONDS.labels(store)


@cache
def reviews(verdict: str, clause: str, mode: str) -> Counter:
    """Return the counter of such reviews: finding it anew takes longer than counting."""
    return REVIEWS.labels(verdict, clause, mode)


def show_head(entry: Entry) -> None:
    """Say how far this process's chain has come. No label names the chain: each start makes one."""
    CHAIN_SEQUENCE.set(entry.sequence)
    CHAIN_TIME.set(entry.time.timestamp())


def exposition() -> bytes:
    """Return the figures of all processes, as Prometheus reads them."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(_Clock())
    return generate_latest(registry)


def forget_process(pid: int) -> None:
    """Drop what only a living process has to say."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call]
