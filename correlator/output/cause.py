"""Who did it, in words: a cell for a table, a sentence below it."""

from correlator.finding import Class, Finding, time_as_text
from correlator.link.link import Link, State
from correlator.output.text import NOTHING
from glasswarden.printable import printable


def who_text(finding: Finding) -> str:
    """Return whose doing it is, or that nobody knows."""
    link = finding.link
    if link is None:
        return NOTHING
    # The audit log may name who did what no record explains.
    return printable(_actor(link) or _manager(finding, link)) or f"({link.state})"


def _manager(finding: Finding, link: Link) -> str:
    """Return, in brackets, which program it was left to: not a person's name, and not proven."""
    if link.state is not State.DELEGATED:
        return ""
    is_told = finding.verdict is not None and finding.verdict.kind is Class.SYNC_AVAILABILITY
    name = link.manager or (finding.source if is_told else "")
    return f"[{name}]" if name else ""


def ticket_text(finding: Finding) -> str:
    """Return the ticket that it was done under."""
    return printable(finding.link.ticket if finding.link else "") or NOTHING


def cause_text(link: Link) -> str:
    """Return the cause as a sentence without its end: what is known, and by what."""
    evidence = "; ".join(link.evidence)
    if link.state is State.UNEXPLAINED:
        return printable(f"unexplained: {link.why}{f' ({evidence})' if evidence else ''}")
    if link.state is State.DELEGATED:
        return printable(f"delegated: {evidence}")
    origin = f"from {link.source}" if link.source else ""
    told = [_actor(link), time_as_text(link.time), link.manager, origin, link.ticket]
    return printable(f"{', '.join(filter(None, told))} ({link.confidence}): {evidence}")


def _actor(link: Link) -> str:
    return f"{link.actor} (posed as by {link.impersonator})" if link.impersonator else link.actor
