"""The cells and sentences of a finding as text that is safe to print on a terminal."""

import json
import unicodedata
from typing import Final

from correlator.attribution.link import Link, State
from correlator.finding import UNKNOWN, Class, Finding, Result, time_as_text
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.paths import ROOT
from glasswarden.terminal import escape_unprintable

NOTHING: Final = "—"


def render_value(value: Value) -> str:
    """Return *value* on one line."""
    if value is ABSENT:
        return NOTHING
    if isinstance(value, str):
        return escape_unprintable(value) or '""'
    return escape_unprintable(json.dumps(value, ensure_ascii=False))


def columns_of(text: str) -> int:
    """Return how many columns *text* takes on a terminal: two for each wide character."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def render_no_findings(result: Result) -> str:
    """Return that there are no findings, in words that claim no more than was inspected."""
    nothing = f"No {result.looked_for}"
    return f"{nothing} in what could be inspected" if result.incomplete else nothing


def render_object(finding: Finding) -> str:
    """Return which object it is."""
    return escape_unprintable(str(finding.ref))


def render_declared(finding: Finding) -> str:
    """Return what Git says; a whole object is not spelled out."""
    is_whole = finding.is_missing_object and finding.declared != UNKNOWN
    return "the object" if is_whole else render_value(finding.declared)


def render_live(finding: Finding) -> str:
    """Return what is live; a whole object is not spelled out."""
    return "the object" if finding.is_orphan else render_value(finding.live)


def render_field(finding: Finding) -> str:
    """Return which field it is."""
    return "(object)" if finding.field == ROOT else escape_unprintable(str(finding.field))


def render_who(finding: Finding) -> str:
    """Return whose doing it is, or that nobody knows."""
    link = finding.link
    if link is None:
        return NOTHING
    # The audit log may name who did what no record explains.
    return (
        escape_unprintable(_render_actor(link) or _render_manager(finding, link))
        or f"({link.state})"
    )


def _render_manager(finding: Finding, link: Link) -> str:
    """Return, in brackets, which program it was left to: not a person's name, and not proven."""
    if link.state is not State.DELEGATED:
        return ""
    is_told = finding.verdict is not None and finding.verdict.kind is Class.SYNC_AVAILABILITY
    name = link.manager or (finding.source if is_told else "")
    return f"[{name}]" if name else ""


def render_ticket(finding: Finding) -> str:
    """Return the ticket that it was done under."""
    return escape_unprintable(finding.link.ticket if finding.link else "") or NOTHING


def render_cause(link: Link) -> str:
    """Return the cause as a sentence without its end: what is known, and by what."""
    evidence = "; ".join(link.evidence)
    if link.state is State.UNEXPLAINED:
        return escape_unprintable(f"unexplained: {link.why}{f' ({evidence})' if evidence else ''}")
    if link.state is State.DELEGATED:
        return escape_unprintable(f"delegated: {evidence}")
    origin = f"from {link.source}" if link.source else ""
    told = [_render_actor(link), time_as_text(link.time), link.manager, origin, link.ticket]
    return escape_unprintable(f"{', '.join(filter(None, told))} ({link.confidence}): {evidence}")


def _render_actor(link: Link) -> str:
    return (
        f"{link.actor} (impersonated by {link.impersonator})" if link.impersonator else link.actor
    )
