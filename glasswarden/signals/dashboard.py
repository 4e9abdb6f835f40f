"""The Grafana dashboard: what is decided, how fast, and whether the guard itself is well."""

from dataclasses import dataclass
from typing import Any, Final

_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_OURS: Final = 'name=~".+[.]glasswarden[.]io"'
_FAILED_OPEN: Final = f"apiserver_admission_webhook_fail_open_count{{{_OURS}}}"
_UNANSWERED: Final = (
    f'apiserver_admission_webhook_rejection_count{{{_OURS},error_type="calling_webhook_error"}}'
)
_UNRECORDED: Final = "glasswarden_unrecorded_writes_total"
_LATENCIES: Final = "sum by (le) (rate(glasswarden_review_seconds_bucket[$__rate_interval]))"

WIDTH: Final = 24
HEIGHT: Final = 8


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: a title, how wide it is, and what is drawn in it."""

    title: str
    says: str
    queries: tuple[tuple[str, str], ...]
    """Expressions, each with the legend of its lines."""
    unit: str = "short"
    width: int = 8
    kind: str = "timeseries"


PANELS: Final = (
    Panel(
        "Certificate valid for",
        "Renewed when a third of its life is left.",
        (("min(glasswarden_certificate_expiry_timestamp_seconds) - time()", "left"),),
        unit="s",
        width=6,
        kind="stat",
    ),
    Panel(
        "Configurations missing",
        "More than 0: nothing is guarded, or nobody can break the glass.",
        (("max(glasswarden_certs_configurations_missing)", "missing"),),
        width=6,
        kind="stat",
    ),
    Panel(
        "Failed open, last hour",
        "Writes that no record knows of; the audit log does.",
        ((f"sum(increase({_FAILED_OPEN}[1h]))", "writes"),),
        width=6,
        kind="stat",
    ),
    Panel(
        "Refused direct writes, last hour",
        "What people met.",
        (('sum(increase(glasswarden_reviews_total{verdict="deny"}[1h]))', "writes"),),
        width=6,
        kind="stat",
    ),
    Panel(
        "Reviews",
        "What the API server asked about, by the clause that decided.",
        (
            (
                "sum by (verdict, clause) (rate(glasswarden_reviews_total[$__rate_interval]))",
                "{{verdict}} {{clause}}",
            ),
        ),
        unit="ops",
        width=12,
    ),
    Panel(
        "Time to answer",
        "From the whole request to its answer.",
        tuple(
            (f"histogram_quantile({quantile}, {_LATENCIES})", f"p{round(quantile * 100)}")
            for quantile in (0.5, 0.9, 0.99)
        ),
        unit="s",
        width=12,
    ),
    Panel(
        "Refused requests",
        "Requests that were no review, and reviews that could not be answered.",
        (
            (
                "sum by (status) (rate(glasswarden_refused_requests_total[$__rate_interval]))",
                "HTTP {{status}}",
            ),
        ),
        unit="ops",
    ),
    Panel(
        "Failed calls, as the API server saw them",
        "Refused for want of an answer, and let through for want of one.",
        (
            (f"sum(rate({_UNANSWERED}[$__rate_interval]))", "refused"),
            (f"sum(rate({_FAILED_OPEN}[$__rate_interval]))", "let through"),
        ),
        unit="ops",
    ),
    Panel(
        "Changes of the policy",
        "A refused one leaves the rules as they were.",
        (
            (
                "sum by (outcome) (increase(glasswarden_policy_reloads_total[$__rate_interval]))",
                "{{outcome}}",
            ),
        ),
    ),
    Panel(
        "Spool",
        "Records that wait for the ledger, and what the spools hold at most.",
        (
            ("sum(glasswarden_spool_bytes)", "waiting"),
            ("sum(glasswarden_spool_limit_bytes)", "limit"),
        ),
        unit="bytes",
    ),
    Panel(
        "Behind the ledger",
        "Age of the oldest record that waits: what a report made now would lack.",
        (("max(glasswarden_spool_oldest_seconds)", "oldest"),),
        unit="s",
    ),
    Panel(
        "Unrecorded writes",
        "What neither the ledger nor a spool took, by what became of it.",
        ((f"sum by (outcome) (increase({_UNRECORDED}[$__rate_interval]))", "{{outcome}}"),),
    ),
    Panel(
        "Records",
        "By how much the processes' chains grow.",
        (("sum(deriv(glasswarden_chain_head_sequence[$__rate_interval]))", "a second"),),
        unit="ops",
    ),
    Panel(
        "Age of the youngest record",
        "Since anything was recorded: where people write by hand, it stays small.",
        (("time() - max(glasswarden_chain_head_timestamp_seconds > 0)", "youngest"),),
        unit="s",
    ),
    Panel(
        "Findings",
        "What is not as Git says, by class and by whether a cause is known.",
        (("sum by (class, state) (glasswarden_findings)", "{{class}} {{state}}"),),
        width=12,
    ),
    Panel(
        "Age of sources",
        "Since each was last read well: what a source declares is not compared meanwhile.",
        (
            (
                "time() - max by (source) (glasswarden_source_read_timestamp_seconds)",
                "{{source}}",
            ),
        ),
        unit="s",
    ),
    Panel(
        "Leads",
        "1: one replica of the correlator makes the passes.",
        (("sum(glasswarden_correlator_leader)", "leaders"),),
        width=4,
        kind="stat",
    ),
    Panel(
        "Grants",
        "Open ones, and those that are over while something changed under them is still live.",
        (('max by (state) (glasswarden_grants{state!="settled"})', "{{state}}"),),
    ),
)


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    return {
        "uid": "glasswarden",
        "title": "Glasswarden",
        "tags": ["glasswarden"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_source_variable()]},
        "panels": _placed(PANELS),
    }


def _source_variable() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _placed(panels: tuple[Panel, ...]) -> list[dict[str, Any]]:
    """Return *panels* one beside the other, line by line."""
    placed, x, y = [], 0, 0
    for number, panel in enumerate(panels, start=1):
        if x + panel.width > WIDTH:
            x, y = 0, y + HEIGHT
        position = {"x": x, "y": y, "w": panel.width, "h": HEIGHT}
        placed.append(_panel(panel, number, position))
        x += panel.width
    return placed


def _panel(panel: Panel, number: int, position: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.says,
        "datasource": _SOURCE,
        "gridPos": position,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "expr": query, "legendFormat": legend}
            for index, (query, legend) in enumerate(panel.queries)
        ],
    }
