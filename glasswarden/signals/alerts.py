"""The alerts: what each fires on, what it means for others, whose it is, and what to read.

Few, and each one is something to act upon. `docs/runbooks` has a page for each.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

NAME: Final = "glasswarden"
KEEPER: Final = "glasswarden-certs"
"""The PrometheusRule about the keeper: where cert-manager takes its place, nobody is to miss it."""

RUNBOOKS: Final = "docs/runbooks"

_OURS: Final = 'name=~".+[.]glasswarden[.]io"'
_DAY: Final = 24 * 3600


class Severity(StrEnum):
    """How soon somebody has to look."""

    CRITICAL = "critical"
    """Now, also at night."""
    WARNING = "warning"
    """During the next working day."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert."""

    name: str
    expression: str
    waits: str
    severity: Severity
    summary: str
    impact: str
    owner: str = "platform"
    rule: str = NAME
    """The PrometheusRule that it stands in."""

    @property
    def page(self) -> str:
        """The name of its runbook's page."""
        words = re.findall("[A-Z][a-z]+", self.name.removeprefix("Glasswarden"))
        return f"{'-'.join(words).lower()}.md"


def _grew(series: str, window: str) -> str:
    """Return whether a counter grew, or came into being with something counted already.

    `increase` knows growth only from one sample to the next: of a counter that begins with its
    first event it never sees that event.
    """
    return (
        f"sum(increase({series}[{window}])) > 0"
        f" or count({series} > 0 unless {series} offset {window}) > 0"
    )


ALERTS: Final = (
    Alert(
        "GlasswardenAway",
        "absent(glasswarden_certificate_expiry_timestamp_seconds)",
        "5m",
        Severity.CRITICAL,
        "No webhook of Glasswarden answers Prometheus.",
        "Direct writes to guarded objects are refused; unless the policy has them pass, unrecorded."
        " GitOps and unguarded objects go on.",
    ),
    Alert(
        "GlasswardenCallsFail",
        _grew(
            "apiserver_admission_webhook_rejection_count"
            f'{{{_OURS},error_type="calling_webhook_error"}}',
            "5m",
        ),
        "2m",
        Severity.CRITICAL,
        "The API server cannot get answers from the webhook.",
        "Direct writes to guarded objects are refused, with the failed call as the reason.",
    ),
    Alert(
        "GlasswardenFailedOpen",
        _grew(f"apiserver_admission_webhook_fail_open_count{{{_OURS}}}", "10m"),
        "0m",
        Severity.WARNING,
        "Writes were let through because the webhook did not answer.",
        "Some writes are in no record: the API server's audit log names them.",
    ),
    Alert(
        "GlasswardenReviewsUnanswered",
        _grew('glasswarden_refused_requests_total{status=~"5.."}', "5m"),
        "2m",
        Severity.CRITICAL,
        "The webhook answers reviews with errors.",
        "Direct writes to guarded objects are refused; most likely no record can be stored.",
    ),
    Alert(
        "GlasswardenSlow",
        "histogram_quantile(0.99, sum by (le) (rate(glasswarden_review_seconds_bucket[5m]))) > 0.5",
        "10m",
        Severity.WARNING,
        "One review in a hundred takes more than half a second.",
        "People wait at guarded objects; after 5 s the API server gives up and refuses the write.",
    ),
    Alert(
        "GlasswardenConfigurationMissing",
        "max(glasswarden_certs_configurations_missing) > 0",
        "1m",
        Severity.CRITICAL,
        "A webhook configuration of ours was deleted.",
        "Without the validating one nothing is guarded or recorded; without the mutating one nobody"
        " can break the glass.",
        rule=KEEPER,
    ),
    Alert(
        "GlasswardenCertificateNotRenewed",
        f"min(glasswarden_certificate_expiry_timestamp_seconds) - time() < {20 * _DAY}",
        "1h",
        Severity.WARNING,
        "The serving certificate should have been renewed days ago.",
        "None yet. When it expires, direct writes to guarded objects are refused.",
    ),
    Alert(
        "GlasswardenCertificateExpires",
        f"min(glasswarden_certificate_expiry_timestamp_seconds) - time() < {3 * _DAY}",
        "5m",
        Severity.CRITICAL,
        "The serving certificate expires within three days.",
        "When it expires, direct writes to guarded objects are refused.",
    ),
    Alert(
        "GlasswardenCertsStuck",
        "max(glasswarden_certs_leader) < 1 or "
        '(sum(increase(glasswarden_certs_passes_total{outcome="done"}[15m])) == 0)',
        "15m",
        Severity.WARNING,
        "Nobody keeps the certificates.",
        "None yet. No certificate is renewed, and a deleted configuration would go unseen.",
        rule=KEEPER,
    ),
    Alert(
        "GlasswardenCertsGone",
        "absent(glasswarden_certs_leader)",
        "15m",
        Severity.WARNING,
        "No keeper of the certificates answers Prometheus.",
        "None yet. No certificate is renewed, and a deleted configuration would go unseen.",
        rule=KEEPER,
    ),
    Alert(
        "GlasswardenPolicyRefused",
        "max(glasswarden_policy_refused) > 0",
        "0m",
        Severity.WARNING,
        "A changed policy file could not be used.",
        "The rules from before the change go on serving.",
    ),
    Alert(
        "GlasswardenLedgerAway",
        "min(glasswarden_ledger_available) == 0",
        "2m",
        Severity.WARNING,
        "A process of the webhook does not reach the ledger.",
        "None yet: records wait in the spool. When that is full, the policy's outage rules apply.",
    ),
    Alert(
        "GlasswardenLedgerLag",
        "max(glasswarden_spool_oldest_seconds) > 300",
        "5m",
        Severity.WARNING,
        "Records have waited for the ledger for more than five minutes.",
        "Reports, blame and grants listings lack what happened since.",
    ),
    Alert(
        "GlasswardenSpoolFills",
        "max(glasswarden_spool_bytes / glasswarden_spool_limit_bytes) > 0.5",
        "1m",
        Severity.CRITICAL,
        "The spool is more than half full.",
        "When it is full, enforced direct writes are refused, and others pass without a record.",
    ),
    Alert(
        "GlasswardenWritesUnrecorded",
        _grew("glasswarden_unrecorded_writes_total", "10m"),
        "0m",
        Severity.CRITICAL,
        "Writes could not be recorded at all.",
        "By the policy's outage rules they were refused, or went through without a record.",
    ),
    Alert(
        "GlasswardenClockWrong",
        "max(abs(glasswarden_clock_timestamp_seconds"
        " - timestamp(glasswarden_clock_timestamp_seconds))) > 30",
        "2m",
        Severity.WARNING,
        "The webhook's clock differs from Prometheus' by more than half a minute.",
        "Grants end too early or too late, and records carry the wrong time.",
    ),
    Alert(
        "GlasswardenGrantsOverdue",
        'max(glasswarden_grants{state="overdue"}) > 0',
        "30m",
        Severity.WARNING,
        "Grants are over, and what was changed under them is still live and not in Git.",
        "None yet. A fix that is in no repository is lost with the next sync, or outlives its use.",
    ),
    Alert(
        "GlasswardenStrangers",
        'sum(rate(glasswarden_refused_requests_total{status="403"}[10m])) > 0',
        "10m",
        Severity.WARNING,
        "Somebody who does not know the path keeps calling the webhook.",
        "None: they are turned away. It is a scan, or a webhook configuration out of date.",
    ),
    Alert(
        "GlasswardenUnexplained",
        'sum(glasswarden_findings{class="desired-configuration",state="unexplained"}) > 0',
        "15m",
        Severity.WARNING,
        "Something is not as Git says, and no record tells who did it.",
        "Somebody wrote past the webhook, or before it was there; nobody can be asked why.",
    ),
    Alert(
        "GlasswardenSourceStale",
        "time() - min(max by (source) (glasswarden_source_read_timestamp_seconds)) > 900",
        "5m",
        Severity.WARNING,
        "A source has not been read for a quarter of an hour.",
        "Drift from what it declares goes unseen; what was found before is still shown as open.",
    ),
    Alert(
        "GlasswardenCorrelatorStuck",
        "max(glasswarden_correlator_leader) < 1 or "
        '(sum(increase(glasswarden_correlator_passes_total{outcome="done"}[15m])) == 0)',
        "15m",
        Severity.WARNING,
        "Nobody looks for drift.",
        "New drift goes unseen and unreported. Writes are judged and recorded all the same.",
    ),
    Alert(
        "GlasswardenCorrelatorGone",
        # Not everybody installs one: it is missed where it was, or where Prometheus looks for it.
        "absent(glasswarden_correlator_leader) and on() ("
        "count(last_over_time(glasswarden_correlator_leader[1d])) > 0"
        ' or count(up{job=~"(.+/)?glasswarden-correlator"}) > 0)',
        "15m",
        Severity.WARNING,
        "No correlator answers Prometheus.",
        "New drift goes unseen and unreported. Writes are judged and recorded all the same.",
    ),
)


def prometheus_rules(runbooks: str = "") -> list[dict[str, Any]]:
    """Return the PrometheusRules; *runbooks* is the address that people read the pages under."""
    return [
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {
                "name": name,
                "labels": {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": NAME},
            },
            "spec": {
                "groups": [
                    {
                        "name": name,
                        "rules": [_rule(each, runbooks) for each in ALERTS if each.rule == name],
                    }
                ]
            },
        }
        for name in (NAME, KEEPER)
    ]


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.waits,
        "labels": {"severity": alert.severity.value, "owner": alert.owner},
        "annotations": {"summary": alert.summary, "impact": alert.impact, **_page(alert, runbooks)},
    }


def _page(alert: Alert, runbooks: str) -> dict[str, str]:
    """Return where the page is: what is called a URL is one, or pagers make a dead link of it."""
    if runbooks:
        return {"runbook_url": f"{runbooks.rstrip('/')}/{alert.page}"}
    return {"runbook": f"{RUNBOOKS}/{alert.page}"}
