"""The metrics of the webhook, aggregated over all of its processes.

No label grows without bound: names of users, objects and applications are in the ledger.
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


def _share_metrics() -> None:
    """Create the folder in which the processes share their metrics; remove it at exit.

    prometheus_client reads the variable at its first import. Processes that are forked later use
    the same folder and do not remove it when they end.
    """
    folder, maker = tempfile.mkdtemp(prefix=_PREFIX), os.getpid()
    os.environ[_VARIABLE] = folder

    def remove() -> None:
        if os.getpid() == maker:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)


# A folder of that name belongs to the program that started this one; its metrics are separate.
# Forked processes do not run this again.
if Path(os.environ.get(_VARIABLE, _PREFIX)).name.startswith(_PREFIX):
    _share_metrics()

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
    "Admission reviews answered, by verdict, deciding clause and mode",
    ["verdict", "clause", "mode"],
    registry=_REGISTRY,
)
GRANTS: Final = Counter(
    "glasswarden_grants_total",
    "Writes that requested, used or ended a grant, by act",
    ["act"],
    registry=_REGISTRY,
)
EVENTS: Final = Counter(
    "glasswarden_events_total",
    "Kubernetes Events, by outcome",
    ["outcome"],
    registry=_REGISTRY,
)
REJECTED_REQUESTS: Final = Counter(
    "glasswarden_refused_requests_total",
    "Requests that were rejected, and reviews that could not be answered, by HTTP status",
    ["status"],
    registry=_REGISTRY,
)
HELD_WRITES: Final = Counter(
    "glasswarden_held_writes_total",
    "Writes of reconcilers in which fields were held under a grant",
    registry=_REGISTRY,
)
POLICY_RELOADS: Final = Counter(
    "glasswarden_policy_reloads_total",
    "Changes of the policy file, by whether they were loaded or rejected",
    ["outcome"],
    registry=_REGISTRY,
)
POLICY_REJECTED: Final = Gauge(
    "glasswarden_policy_refused",
    "1 while the current policy file is invalid and earlier rules are in force",
    registry=_REGISTRY,
    multiprocess_mode="livemax",
)
# With a label, although it has only one value: without it, the parent process, which serves
# nothing, would export 0, and that would be the earliest.
CERTIFICATE_EXPIRY: Final = Gauge(
    "glasswarden_certificate_expiry_timestamp_seconds",
    "Expiry of the served certificate: the earliest of all processes",
    ["certificate"],
    registry=_REGISTRY,
    multiprocess_mode="livemin",
)
# The same; a process without a key exports 0.
GRANT_KEY: Final = Gauge(
    "glasswarden_grant_key_active_timestamp_seconds",
    "Start time of the key that signs stamps, 0 without a key: the earliest of all processes",
    ["key"],
    registry=_REGISTRY,
    multiprocess_mode="livemin",
)
STAMPS_REJECTED: Final = Counter(
    "glasswarden_stamps_refused_total",
    "Writes to objects with a stamp that no key verifies: a revoked key or a forged stamp",
    registry=_REGISTRY,
)
LATENCY: Final = Histogram(
    "glasswarden_review_seconds",
    "Time from the complete request to its answer",
    registry=_REGISTRY,
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)

COMMIT_SECONDS: Final = Histogram(
    "glasswarden_commit_seconds",
    "Time until records were on a disk, by store",
    ["store"],
    registry=_REGISTRY,
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
COMMITTED_RECORDS: Final = Histogram(
    "glasswarden_commit_records",
    "Number of records that shared a commit",
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
    "Maximum number of bytes in spools, of all processes together",
    registry=_REGISTRY,
    multiprocess_mode="livesum",
)
SPOOL_AGE: Final = Gauge(
    "glasswarden_spool_oldest_seconds",
    "Age of the oldest record in a spool, at the last change of the spool",
    registry=_REGISTRY,
    multiprocess_mode="livemax",
)
UNRECORDED: Final = Counter(
    "glasswarden_unrecorded_writes_total",
    "Writes that could not be recorded, by outcome",
    ["outcome"],
    registry=_REGISTRY,
)
CHAIN_SEQUENCE: Final = Gauge(
    "glasswarden_chain_head_sequence",
    "Sum of the last sequence numbers of the chains of all processes",
    registry=_REGISTRY,
    multiprocess_mode="livesum",
)
CHAIN_TIME: Final = Gauge(
    "glasswarden_chain_head_timestamp_seconds",
    "Time of the newest record of the chains of all processes",
    registry=_REGISTRY,
    multiprocess_mode="livemax",
)
CLOCK_JUMPS: Final = Counter(
    "glasswarden_clock_jumps_total",
    "Times that a process saw the clock change by more than five seconds",
    registry=_REGISTRY,
)


# A counter that starts with its first event hides that event from `increase`: each starts at 0.
for _outcome in ("taken", "refused"):
    POLICY_RELOADS.labels(_outcome)
for _outcome in ("allowed", "refused"):
    UNRECORDED.labels(_outcome)
for _outcome in ("written", "dropped", "failed"):
    EVENTS.labels(_outcome)
for _act in Act:
    GRANTS.labels(_act)
for _status in (400, 403, 413, 415, 500, 503):
    REJECTED_REQUESTS.labels(_status)


class _Clock(Collector):
    """Reads the clock when the metrics are collected, so that no process has to store it."""

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "glasswarden_clock_timestamp_seconds", "Clock of the webhook", time.time()
        )


_REGISTRY.register(_Clock())


@cache
def commit_seconds_of(store: str) -> Histogram:
    """Return the histogram of commits to *store*; cached: the lookup is slower than observing."""
    return COMMIT_SECONDS.labels(store)


@cache
def reviews_counter_of(verdict: str, clause: str, mode: str) -> Counter:
    """Return the counter of such reviews; cached: the lookup is slower than counting."""
    return REVIEWS.labels(verdict, clause, mode)


def publish_head(entry: Entry) -> None:
    """Publish the head of this process's chain, without a label: each start makes a new chain."""
    CHAIN_SEQUENCE.set(entry.sequence)
    CHAIN_TIME.set(entry.time.timestamp())


def render_metrics() -> bytes:
    """Return the metrics of all processes in the text format of Prometheus."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(_Clock())
    return generate_latest(registry)


def forget_process(pid: int) -> None:
    """Remove the gauges of a process that has ended."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call]
