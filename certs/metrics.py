"""The metrics of the certificate controller, which is a single process."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from certs.controller import Pass
from certs.rotation import Phase

REGISTRY: Final = CollectorRegistry()

LEADER: Final = Gauge("glasswarden_certs_leader", "1 on the replica that leads", registry=REGISTRY)
EXPIRY: Final = Gauge(
    "glasswarden_certs_expiry_timestamp_seconds",
    "Expiry of the stored serving certificate",
    registry=REGISTRY,
)
PHASE: Final = Gauge(
    "glasswarden_certs_phase",
    "1 for the current phase of the rotation",
    ["phase"],
    registry=REGISTRY,
)
MISSING: Final = Gauge(
    "glasswarden_certs_configurations_missing",
    "Webhook configurations that should exist and do not",
    registry=REGISTRY,
)
PASSES: Final = Counter(
    "glasswarden_certs_passes_total",
    "Passes of the certificate controller, by outcome",
    ["outcome"],
    registry=REGISTRY,
)
for _outcome in ("done", "overtaken", "failed"):
    # A counter that starts with its first event hides that event; no pass at all must be 0.
    PASSES.labels(_outcome)


def publish_pass(done: Pass) -> None:
    """Publish the result of a pass."""
    EXPIRY.set(done.state.expires.timestamp())
    MISSING.set(len(done.missing))
    for phase in Phase:
        PHASE.labels(phase).set(done.state.phase is phase)


def clear_metrics() -> None:
    """Clear the metrics that only the leader determines."""
    LEADER.set(0)
    for gauge in (EXPIRY, MISSING):
        gauge.set(float("nan"))
    PHASE.clear()
