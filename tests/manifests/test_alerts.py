"""Alerts are tried with the real promtool: each fires when it should, and only then."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.manifests.files import (
    ALERTS,
    ROOT,
    groups_in,
    known_metrics,
    read_alerts,
    run_promtool,
)

RUNBOOKS = ROOT / "docs" / "runbooks"

GRANTS = 'glasswarden_grants{state="%s"}'
EXPIRY = "glasswarden_certificate_expiry_timestamp_seconds"
DAY = 24 * 60
"""In minutes: the distance of two samples below is one."""


@dataclass(frozen=True, slots=True)
class Story:
    """What Prometheus saw, minute by minute, and whether the alert fired at the end."""

    alert: str
    series: dict[str, str]
    minutes: int
    fires: bool
    name: str


HOOK = 'name="guard.glasswarden.io"'
OTHER = 'name="guard.other.example"'
FAILED = 'apiserver_admission_webhook_rejection_count{%s,error_type="calling_webhook_error"}'
OPENED = "apiserver_admission_webhook_fail_open_count{%s}"
REFUSED = 'glasswarden_refused_requests_total{status="%s"}'
DONE = 'glasswarden_certs_passes_total{outcome="done"}'
SLOW = {
    'glasswarden_review_seconds_bucket{le="0.5"}': "0+50x30",
    'glasswarden_review_seconds_bucket{le="1"}': "0+100x30",
    'glasswarden_review_seconds_bucket{le="+Inf"}': "0+100x30",
}
QUICK = {
    'glasswarden_review_seconds_bucket{le="0.5"}': "0+100x30",
    'glasswarden_review_seconds_bucket{le="+Inf"}': "0+100x30",
}

MISSING = "glasswarden_certs_configurations_missing"
LEADER = "glasswarden_certs_leader"
AVAILABLE = "glasswarden_ledger_available"
OLDEST = "glasswarden_spool_oldest_seconds"
SPOOLED, LIMIT = "glasswarden_spool_bytes", "glasswarden_spool_limit_bytes"
UNRECORDED = 'glasswarden_unrecorded_writes_total{outcome="%s"}'
CLOCK = "glasswarden_clock_timestamp_seconds"
FOUND = 'glasswarden_findings{class="%s",state="%s"}'
READ = 'glasswarden_source_read_timestamp_seconds{source="%s"}'
UNEXPLAINED = FOUND % ("desired-configuration", "unexplained")
EXPLAINED = FOUND % ("desired-configuration", "explained")
MANAGED = FOUND % ("controller-managed", "unexplained")
STALE = {READ % "shop": "0x40", READ % "ledger": "0+60x40"}
LEADS = "glasswarden_correlator_leader"
PASSED = 'glasswarden_correlator_passes_total{outcome="done"}'
BROKEN = "glasswarden_policy_refused"
SCRAPED = 'up{job="glasswarden/glasswarden-correlator"}'

STORIES = (
    Story("WebhookUnavailable", {}, 10, True, "nobody answers"),
    Story("WebhookUnavailable", {EXPIRY: "9000000x10"}, 10, False, "somebody answers"),
    Story("WebhookUnavailable", {}, 4, False, "only just away"),
    Story("CallsFail", {FAILED % HOOK: "0+1x10"}, 10, True, "our calls fail"),
    Story("CallsFail", {FAILED % HOOK: "_x5 1x5"}, 9, True, "the first call that ever failed"),
    Story("CallsFail", {FAILED % OTHER: "0+1x10"}, 10, False, "another webhook's calls fail"),
    Story("CallsFail", {FAILED % HOOK: "7x10"}, 10, False, "they failed long ago"),
    Story("FailedOpen", {OPENED % HOOK: "0+1x5 5x5"}, 8, True, "a write passed"),
    Story("FailedOpen", {OPENED % HOOK: "_x5 1x5"}, 8, True, "the first that ever passed"),
    Story("FailedOpen", {OPENED % HOOK: "2x30"}, 25, False, "long ago"),
    Story("FailedOpen", {OPENED % OTHER: "0+1x10"}, 8, False, "another webhook's"),
    Story("ReviewsUnanswered", {REFUSED % 503: "0+1x10"}, 8, True, "no record can be stored"),
    Story("ReviewsUnanswered", {REFUSED % 500: "_x3 0x2 1x6"}, 8, True, "only one, of a new pod"),
    Story("ReviewsUnanswered", {REFUSED % 503: "_x3 1x8"}, 7, True, "before it was ever scraped"),
    Story("ReviewsUnanswered", {REFUSED % 403: "0+1x10"}, 8, False, "only strangers"),
    Story("Slow", SLOW, 25, True, "half of them over half a second"),
    Story("Slow", QUICK, 25, False, "all quick"),
    Story("ConfigurationMissing", {MISSING: "1x5"}, 5, True, "gone"),
    Story("ConfigurationMissing", {MISSING: "0x5"}, 5, False, "there"),
    Story(
        "ConfigurationMissing",
        {
            'glasswarden_certs_configurations_missing{pod="leader"}': "0x5",
            'glasswarden_certs_configurations_missing{pod="other"}': "NaN NaN NaN NaN NaN NaN",
        },
        5,
        False,
        "a replica that does not lead says nothing",
    ),
    Story("CertificateNotRenewed", {EXPIRY: f"{19 * DAY * 60}x90"}, 80, True, "19 days left"),
    Story("CertificateNotRenewed", {EXPIRY: f"{29 * DAY * 60}x90"}, 80, False, "29 days left"),
    Story("CertificateExpires", {EXPIRY: f"{2 * DAY * 60}x20"}, 15, True, "two days left"),
    Story("CertificateExpires", {EXPIRY: f"{4 * DAY * 60}x20"}, 15, False, "four days left"),
    Story("CertificateControllerStuck", {LEADER: "0x40", DONE: "0+12x40"}, 35, True, "no leader"),
    Story("CertificateControllerStuck", {LEADER: "1x40", DONE: "9x40"}, 35, True, "no pass ends"),
    Story("CertificateControllerStuck", {LEADER: "1x40", DONE: "0+12x40"}, 35, False, "it works"),
    Story("CertificateControllerStuck", {LEADER: "_x5 1x40", DONE: "_x5 0x40"}, 40, True, "none"),
    Story("CertificateControllerStuck", {}, 35, False, "none is there"),
    Story("CertificateControllerUnavailable", {}, 20, True, "none ever was"),
    Story("CertificateControllerUnavailable", {LEADER: "1x10 _x30"}, 35, True, "all are gone"),
    Story("CertificateControllerUnavailable", {LEADER: "0x40"}, 35, False, "one is there"),
    Story("PolicyRejected", {BROKEN: "_x3 1x9"}, 5, True, "broken"),
    Story("PolicyRejected", {BROKEN: "1x20"}, 18, True, "broken, and still so after a while"),
    Story("PolicyRejected", {BROKEN: "1x3 0x9"}, 8, False, "mended"),
    Story("LedgerUnavailable", {AVAILABLE: "0x10"}, 8, True, "away"),
    Story("LedgerUnavailable", {AVAILABLE: "0 1x10"}, 8, False, "only for a moment"),
    Story("LedgerLag", {OLDEST: "0+60x20"}, 15, True, "delivered never"),
    Story("LedgerLag", {OLDEST: "0 60 120 0x20"}, 15, False, "delivered after two minutes"),
    Story("SpoolFills", {SPOOLED: "0+8000000x10", LIMIT: "64000000x10"}, 9, True, "it fills"),
    Story("SpoolFills", {SPOOLED: "1000000x10", LIMIT: "64000000x10"}, 9, False, "a little"),
    Story("WritesUnrecorded", {UNRECORDED % "refused": "0 0 3x8"}, 6, True, "refused"),
    Story("WritesUnrecorded", {UNRECORDED % "refused": "_x3 0 1x8"}, 8, True, "the first of a pod"),
    Story("WritesUnrecorded", {UNRECORDED % "allowed": "_x3 2x8"}, 8, True, "before a scrape"),
    Story("WritesUnrecorded", {UNRECORDED % "allowed": "3x30"}, 25, False, "long ago"),
    Story("ClockWrong", {CLOCK: "7200+60x10"}, 8, True, "two hours ahead"),
    Story("ClockWrong", {CLOCK: "2+60x10"}, 8, False, "two seconds ahead"),
    Story("GrantsOverdue", {GRANTS % "overdue": "1x40"}, 35, True, "nobody brings them home"),
    Story("GrantsOverdue", {GRANTS % "overdue": "1x20 0x20"}, 35, False, "healed meanwhile"),
    Story("GrantsOverdue", {GRANTS % "open": "3x40"}, 35, False, "only open ones"),
    Story("UnauthorizedCallers", {REFUSED % 403: "0+1x30"}, 25, True, "again and again"),
    Story("UnauthorizedCallers", {REFUSED % 403: "0x30"}, 25, False, "nobody"),
    Story("Unexplained", {UNEXPLAINED: "2x30"}, 25, True, "two"),
    Story("Unexplained", {UNEXPLAINED: "0x30"}, 25, False, "none"),
    Story("Unexplained", {EXPLAINED: "2x30"}, 25, False, "known"),
    Story("Unexplained", {MANAGED: "2x30"}, 25, False, "an HPA's"),
    Story("SourceStale", STALE, 30, True, "one of two"),
    Story("SourceStale", {READ % "shop": "0+60x40"}, 30, False, "read all the time"),
    Story("SourceStale", {}, 30, False, "no correlator"),
    Story("CorrelatorStuck", {LEADS: "0x40", PASSED: "0+1x40"}, 35, True, "no leader"),
    Story("CorrelatorStuck", {LEADS: "1x40", PASSED: "9x40"}, 35, True, "no pass ends well"),
    Story("CorrelatorStuck", {LEADS: "1x40", PASSED: "0+1x40"}, 35, False, "it works"),
    Story("CorrelatorStuck", {LEADS: "_ 1x40", PASSED: "_ 0x40"}, 40, True, "none ever ended well"),
    Story("CorrelatorStuck", {}, 35, False, "not installed"),
    Story("CorrelatorUnavailable", {LEADS: "1x10 _x60"}, 60, True, "all are gone"),
    Story("CorrelatorUnavailable", {SCRAPED: "0x40"}, 35, True, "none ever came up"),
    Story("CorrelatorUnavailable", {LEADS: "0x40"}, 35, False, "one is there"),
    Story("CorrelatorUnavailable", {}, 35, False, "not installed"),
)  # fmt: skip


def name_of(alert: dict[str, Any]) -> str:
    """Return the name of *alert*, for the id of a test."""
    name: str = alert["alert"]
    return name


def page_of(alert: dict[str, Any]) -> str:
    """Return the file name of the runbook for *alert*, which follows from its name."""
    words = re.findall("[A-Z][a-z]+", name_of(alert).removeprefix("Glasswarden"))
    return f"{'-'.join(words).lower()}.md"


def promtool_test(story: Story) -> dict[str, Any]:
    """Return *story* as promtool reads it."""
    [rule] = [each for each in read_alerts() if name_of(each) == f"Glasswarden{story.alert}"]
    labels, annotations = rule["labels"], rule["annotations"]
    expected = [{"exp_labels": labels, "exp_annotations": annotations}] if story.fires else []
    return {
        "name": f"{story.alert}: {story.name}",
        "interval": "1m",
        "input_series": [{"series": name, "values": text} for name, text in story.series.items()],
        "alert_rule_test": [
            {"eval_time": f"{story.minutes}m", "alertname": rule["alert"], "exp_alerts": expected}
        ],
    }


def test_each_alert_fires_only_under_its_condition(promtool: Path, tmp_path: Path) -> None:
    """One run for all of them; promtool names the stories that end otherwise."""
    groups = groups_in(ALERTS.read_text())
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [promtool_test(story) for story in STORIES],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    run_promtool(promtool, tmp_path, "test", "rules", "test.yaml")


def counters() -> list[tuple[str, str]]:
    """Return the counters of ours whose growth alerts watch, with what their labels must match."""
    grows = r"(?:increase|rate)\((glasswarden_\w+_total)(?:{\w+=~?\"([^\"]+)\"})?\["
    return sorted({each for alert in read_alerts() for each in re.findall(grows, alert["expr"])})


@pytest.mark.parametrize(("counter", "label"), counters())
def test_counter_begins_at_zero_in_a_new_process(counter: str, label: str) -> None:
    """One that begins with its first event has no increase to show for it."""
    code = (
        "from webhook import metrics; print(metrics.render_metrics().decode());"
        "from prometheus_client import generate_latest;"
        "from certs import metrics; print(generate_latest(metrics.REGISTRY).decode());"
        "from correlator.service import metrics; print(generate_latest(metrics.REGISTRY).decode())"
    )
    new = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.search(rf'^{counter}{{\w+="{label or ".+"}"}} 0\.0$', new.stdout, re.MULTILINE)


def test_alerts_of_the_certificate_controller_can_be_removed_separately() -> None:
    """The cert-manager component deletes their PrometheusRule by its name."""
    groups = {group["name"]: group["rules"] for group in groups_in(ALERTS.read_text())}
    assert groups.keys() == {"glasswarden", "glasswarden-certs"}
    of_certs = [rule for rules in groups.values() for rule in rules if "_certs_" in rule["expr"]]
    assert groups["glasswarden-certs"] == of_certs


def test_no_two_alerts_have_the_same_name() -> None:
    names = [name_of(alert) for alert in read_alerts()]
    assert len(names) == len({*names})


@pytest.mark.parametrize("alert", read_alerts(), ids=name_of)
def test_every_alert_has_the_labels_and_annotations_of_a_pager(alert: dict[str, Any]) -> None:
    assert alert.keys() == {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"\d+[mh]", alert["for"])
    assert alert["labels"].keys() == {"severity", "owner"}
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert alert["annotations"].keys() == {"summary", "impact", "runbook"}
    assert all(alert["annotations"].values())


@pytest.mark.parametrize("alert", read_alerts(), ids=name_of)
def test_every_alert_is_tested_firing_and_not_firing(alert: dict[str, Any]) -> None:
    outcomes = {story.fires for story in STORIES if f"Glasswarden{story.alert}" == alert["alert"]}
    assert outcomes == {True, False}


@pytest.mark.parametrize("alert", read_alerts(), ids=name_of)
def test_every_alert_links_to_a_complete_runbook(alert: dict[str, Any]) -> None:
    assert alert["annotations"]["runbook"] == f"docs/runbooks/{page_of(alert)}"
    text = (RUNBOOKS / page_of(alert)).read_text()
    assert text.startswith(f"# {alert['alert']}\n")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["What it means", "Diagnosis", "Mitigation", "Afterwards"]


def test_every_runbook_belongs_to_an_alert() -> None:
    pages = {path.name for path in RUNBOOKS.glob("*.md")} - {"README.md"}
    assert pages == {page_of(alert) for alert in read_alerts()}


def test_runbook_names_are_rendered_as_links_as_documented() -> None:
    """`runbook_url` is an address, or pagers make a dead link of it."""
    [script] = re.findall(r"sed '([^']+)'", (ROOT / "docs" / "install.md").read_text())
    edited = subprocess.run(
        ["sed", script, ALERTS], capture_output=True, text=True, check=True
    ).stdout
    for group in groups_in(edited):
        for alert in group["rules"]:
            assert "runbook" not in alert["annotations"]
            url = alert["annotations"]["runbook_url"]
            assert url == f"https://git.example/glasswarden/docs/runbooks/{page_of(alert)}"


@pytest.mark.parametrize("alert", read_alerts(), ids=name_of)
def test_alerts_query_only_existing_metrics(alert: dict[str, Any]) -> None:
    asked = set(re.findall(r"\b(?:glasswarden|apiserver)_\w+", alert["expr"]))
    assert asked
    assert asked <= known_metrics()
