"""The metrics of the correlator, which is a single process.

No label grows without bound: sources are named in a file, applications and objects nowhere.
"""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from correlator.episodes.episode import Episode
from correlator.grants import State

REGISTRY: Final = CollectorRegistry()

LEADER: Final = Gauge(
    "glasswarden_correlator_leader", "Whether this replica makes the passes", registry=REGISTRY
)
PASSES: Final = Counter(
    "glasswarden_correlator_passes_total",
    "Passes, by outcome",
    ["outcome"],
    registry=REGISTRY,
)
PASS_SECONDS: Final = Histogram(
    "glasswarden_correlator_pass_seconds",
    "Time from the beginning of a pass to the end of its duties",
    registry=REGISTRY,
    buckets=(0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
)
SOURCE_FAILURES: Final = Counter(
    "glasswarden_source_failures_total",
    "Passes in which a source could not be read",
    ["source"],
    registry=REGISTRY,
)
DUTY_FAILURES: Final = Counter(
    "glasswarden_correlator_duty_failures_total",
    "Failures of duties, which run after each pass",
    ["duty"],
    registry=REGISTRY,
)
NOTIFICATIONS: Final = Counter(
    "glasswarden_notifications_total",
    "Messages to people, by target and outcome",
    ["target", "outcome"],
    registry=REGISTRY,
)
AUDIT_EVENT: Final = Gauge(
    "glasswarden_audit_event_timestamp_seconds",
    "Time of the newest event of the audit log",
    registry=REGISTRY,
)
AUDIT_BATCHES: Final = Counter(
    "glasswarden_audit_batches_total",
    "Delivered batches of audit events, by outcome",
    ["outcome"],
    registry=REGISTRY,
)

for _outcome in ("done", "failed", "deposed"):
    # One that begins with its first event hides that event; and no pass at all must show as 0.
    PASSES.labels(_outcome)
for _outcome in ("kept", "stranger", "malformed", "too-large", "no-tokens", "unavailable"):
    AUDIT_BATCHES.labels(_outcome)

UNLINKED: Final = "unlinked"
"""The state of findings whose cause was not searched."""


class _OnlyTheLeaders(Collector):
    """Metrics that only the leader exports; the other replicas export nothing, not even 0."""

    def __init__(self) -> None:
        self.findings: Mapping[tuple[str, ...], float] = {}
        self.sources: dict[str, float] = {}
        self.incomplete: int | None = None
        self.grants: Mapping[tuple[str, ...], float] = {}

    def collect(self) -> Iterator[Metric]:
        yield _gauge(
            "glasswarden_findings",
            "Open findings, by class and by whether a cause is known",
            ("class", "state"),
            self.findings,
        )
        yield _gauge(
            "glasswarden_source_read_timestamp_seconds",
            "Time of the last read of a source; at first, when this replica began to lead",
            ("source",),
            {(name,): time for name, time in self.sources.copy().items()},
        )
        yield _gauge(
            "glasswarden_findings_incomplete",
            "Things that the last pass could not inspect",
            (),
            {} if self.incomplete is None else {(): self.incomplete},
        )
        yield _gauge(
            "glasswarden_grants",
            "Grants of the last 30 days, by state",
            ("state",),
            self.grants,
        )


_LEADERS: Final = _OnlyTheLeaders()
REGISTRY.register(_LEADERS)


def lead(sources: Iterable[str], now: datetime) -> None:
    """Begin to export the metrics of the leader."""
    LEADER.set(1)
    _LEADERS.sources = dict.fromkeys(sources, now.timestamp())
    for source in _LEADERS.sources:
        SOURCE_FAILURES.labels(source)


def was_read(source: str, now: datetime) -> None:
    """Publish that a source was read at *now*."""
    _LEADERS.sources[source] = now.timestamp()


def show(episodes: Iterable[Episode], incomplete: int) -> None:
    """Publish the open findings after a pass; series without findings become 0."""
    found: Tally[tuple[str, ...]] = Tally(
        (each.last.class_, each.last.state or UNLINKED) for each in episodes
    )
    _LEADERS.findings = {labels: found[labels] for labels in {*_LEADERS.findings, *found}}
    _LEADERS.incomplete = incomplete


def show_grants(counts: Mapping[State, int]) -> None:
    """Publish the number of grants in each state."""
    _LEADERS.grants = {(state,): count for state, count in counts.items()}


def stand_by() -> None:
    """Stop exporting the metrics of the leader."""
    LEADER.set(0)
    _LEADERS.findings, _LEADERS.sources, _LEADERS.incomplete = {}, {}, None
    _LEADERS.grants = {}


def _gauge(
    name: str, help_text: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]
) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for found, value in values.items():
        family.add_metric(found, value)
    return family
