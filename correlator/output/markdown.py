"""Markdown, for a pull request or the notes of a review."""

from typing import Final

from correlator.finding import Finding, Result, time_as_text
from correlator.output.escape import code_cell, markdown
from correlator.output.text import (
    NOTHING,
    cause_text,
    declared_text,
    field_text,
    live_text,
    nothing_text,
    object_text,
    ticket_text,
    who_text,
)
from glasswarden.terminal import escape_unprintable

_LONGEST: Final = 120
_HEADINGS: Final = ("object", "field", "Git", "live", "since", "class", "cause", "response")
_CAUSE_HEADINGS: Final = ("who", "ticket")


def render_markdown(result: Result) -> str:
    """Return *result* as Markdown."""
    lines = ["# Drift", ""]
    if result.findings:
        linked = any(each.link for each in result.findings)
        headings = _HEADINGS + _CAUSE_HEADINGS if linked else _HEADINGS
        lines += [
            f"| {' | '.join(headings)} |",
            f"| {' | '.join(['---'] * len(headings))} |",
            *(_row(each, linked=linked) for each in result.findings),
            "",
            *(line for each in result.findings for line in _detail(each)),
        ]
    else:
        lines += [f"{nothing_text(result)}.", ""]
    if result.remarks:
        lines += [*(f"- {markdown(each)}" for each in result.remarks), ""]
    if result.incomplete:
        lines += ["## Not looked at", ""]
        lines += [f"- {markdown(each.what)}: {markdown(each.why)}" for each in result.incomplete]
    return "\n".join(lines).rstrip() + "\n"


def _row(finding: Finding, *, linked: bool) -> str:
    verdict = finding.verdict
    cells = [
        markdown(object_text(finding)),
        _code(field_text(finding)),
        _code(declared_text(finding)),
        _code(live_text(finding)),
        time_as_text(finding.since) or NOTHING,
        *((verdict.kind, verdict.cause, verdict.response) if verdict else (NOTHING,) * 3),
    ]
    if linked:
        cells += [markdown(who_text(finding)), markdown(ticket_text(finding))]
    return f"| {' | '.join(cells)} |"


def _detail(finding: Finding) -> list[str]:
    verdict = finding.verdict
    if verdict is None:
        return []
    title = f"## {markdown(object_text(finding))}, {_code(field_text(finding))}"
    lines = [title, "", f"{_sentence(verdict.reason)}.", ""]
    if finding.link is not None:
        lines += [f"Who: {markdown(cause_text(finding.link))}.", ""]
    lines += ["Verify:", "", *_block(verdict.verify), ""]
    if verdict.suggestion:
        lines += ["Suggestion:", "", *_block(verdict.suggestion), ""]
    return lines


def _sentence(text: str) -> str:
    return markdown(text[:1].upper() + text[1:])


def _block(text: str) -> list[str]:
    return ["```", *(escape_unprintable(line) for line in text.splitlines()), "```"]


def _code(text: str) -> str:
    return code_cell(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
