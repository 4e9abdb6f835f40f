"""What the keeper of the certificates tells Prometheus. One process: no figures to share."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from certs.controller import Pass
from certs.rotation import Phase

REGISTRY: Final = CollectorRegistry()

LEADER: Final = Gauge(
    "glasswarden_certs_leader", "Whether this replica keeps the certificates", registry=REGISTRY
)
EXPIRY: Final = Gauge(
    "glasswarden_certs_expiry_timestamp_seconds",
    "When the stored serving certificate stops being valid",
    registry=REGISTRY,
)
PHASE: Final = Gauge(
    "glasswarden_certs_phase", "How far a rotation has come", ["phase"], registry=REGISTRY
)
MISSING: Final = Gauge(
    "glasswarden_certs_configurations_missing",
    "Webhook configurations that should exist and do not",
    registry=REGISTRY,
)
PASSES: Final = Counter(
    "glasswarden_certs_passes_total", "Passes, by how they ended", ["outcome"], registry=REGISTRY
)
for _outcome in ("done", "overtaken", "failed"):
    # One that begins with its first event hides that event; and no pass at all must show as 0.
    PASSES.labels(_outcome)


def show(done: Pass) -> None:
    """Publish what a pass left behind."""
    EXPIRY.set(done.state.expires.timestamp())
    MISSING.set(len(done.missing))
    for phase in Phase:
        PHASE.labels(phase).set(done.state.phase is phase)


def stand_by() -> None:
    """Say nothing about what another replica looks after."""
    LEADER.set(0)
    for gauge in (EXPIRY, MISSING):
        gauge.set(float("nan"))
    PHASE.clear()
