"""What the webhook's own figures say about it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from glasswarden.setup.checks.finding import Finding, Health

KEY_AGE: Final = timedelta(days=90)
"""A key that signs for longer has been seen by too many."""

SKEW_SECONDS: Final = 10.0

Figures = Mapping[str, float]
"""Each metric by its name; of several series the sum."""


def figures_of(exposition: str) -> Figures:
    """Return the figures in what `/metrics` serves."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def recording(figures: Figures) -> Finding:
    """Judge whether what is decided gets into the ledger."""
    subject, waiting = "recording", int(figures.get("glasswarden_spool_records", 0))
    oldest = figures.get("glasswarden_spool_oldest_seconds", 0.0)
    behind = f"{waiting} records wait in the spool, the oldest for {oldest:.0f} s"
    if not figures.get("glasswarden_ledger_available", 1.0):
        says = f"the webhook does not reach its ledger; {behind}"
        return Finding(subject, Health.ILL, says, "docs/runbooks/ledger-away.md")
    if unrecorded := int(figures.get("glasswarden_unrecorded_writes_total", 0)):
        says = f"{unrecorded} writes could not be recorded since it started"
        return Finding(subject, Health.UNSURE, says, "docs/runbooks/writes-unrecorded.md")
    if waiting:
        return Finding(subject, Health.UNSURE, behind, "look again in a minute: it is delivering")
    return Finding(subject, Health.WELL, "every record is in the ledger")


def policy_in_force(figures: Figures) -> Finding:
    """Judge whether the webhook goes by the policy file as it is."""
    subject = "rules"
    if figures.get("glasswarden_policy_refused"):
        says = "the policy file cannot be used as it is; the rules from before serve"
        return Finding(subject, Health.ILL, says, "docs/runbooks/policy-refused.md")
    return Finding(subject, Health.WELL, "the policy file is in force")


def keys(figures: Figures, now: datetime) -> Finding:
    """Judge the key that grants are stamped with."""
    subject, advice = "keys", "glasswarden keys rotate"
    since = figures.get("glasswarden_grant_key_active_timestamp_seconds", 0.0)
    if not since:
        return Finding(subject, Health.ILL, "no key signs: nobody can break the glass", advice)
    if refused := int(figures.get("glasswarden_stamps_refused_total", 0)):
        says = f"{refused} writes met a stamp that no key verifies: a key was revoked, or a forgery"
        return Finding(subject, Health.UNSURE, says, "docs/break-glass.md: ask anew where needed")
    age = now - datetime.fromtimestamp(since, UTC)
    says = f"the key in use signs since {age.days} days"
    if age > KEY_AGE:
        return Finding(subject, Health.UNSURE, says, advice)
    return Finding(subject, Health.WELL, says)


def webhook_clock(figures: Figures, now: datetime) -> Finding:
    """Judge the clock that grants end by; the answer took its time to come."""
    theirs = figures.get("glasswarden_clock_timestamp_seconds", now.timestamp())
    skew = abs(now.timestamp() - theirs)
    says = f"{skew:.0f} s between this machine and the webhook"
    if skew > SKEW_SECONDS:
        advice = "set the webhook's clock: grants end, and records are dated, by it"
        return Finding("webhook-clock", Health.ILL, says, advice)
    return Finding("webhook-clock", Health.WELL, says)


def served(figures: Figures, now: datetime) -> Finding:
    """Judge the certificate that the webhook really serves, which may not be the one kept."""
    subject = "served"
    expiry = figures.get("glasswarden_certificate_expiry_timestamp_seconds", 0.0)
    left = datetime.fromtimestamp(expiry, UTC) - now
    if left <= timedelta():
        advice = "docs/runbooks/certificate-expires.md"
        return Finding(subject, Health.ILL, "the certificate that is served has expired", advice)
    return Finding(subject, Health.WELL, f"a certificate valid for {left.days} days")
