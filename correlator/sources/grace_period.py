"""What a reconciler may be at for a while, and what it is at for too long."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from correlator.finding import Finding
from glasswarden.kube.paths import path_of

AT_WORK: Final = "at work: "
"""Begins what is no trouble unless it lasts."""

LONG: Final = timedelta(hours=1)
"""Reconcilers check again every few minutes, and give up what takes longer than that."""

COMPARED: Final = path_of("status", "reconciledAt")
OBSERVED: Final = path_of("status", "observedGeneration")

_LIMITS: Final = {
    # Some Applications are compared only when something changes.
    COMPARED: timedelta(days=1),
    # A controller that runs sees a change of its own object within seconds.
    OBSERVED: timedelta(minutes=5),
}


def is_at_work(finding: Finding) -> bool:
    """Return whether *finding* may be over soon."""
    return isinstance(finding.live, str) and finding.live.startswith(AT_WORK)


def lasting(findings: Iterable[Finding], now: datetime) -> list[Finding]:
    """Return *findings* without what may be over soon."""
    return [
        _without_progress(each) for each in findings if not is_at_work(each) or _lasts(each, now)
    ]


def _lasts(finding: Finding, now: datetime) -> bool:
    limit = _LIMITS.get(finding.field, LONG)
    return finding.since is not None and now - finding.since > limit


def _without_progress(finding: Finding) -> Finding:
    if not is_at_work(finding):
        return finding
    return replace(finding, live=finding.live.removeprefix(AT_WORK))
