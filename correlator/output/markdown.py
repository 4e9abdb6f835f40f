"""Findings as Markdown, for a pull request or a review."""

from typing import Final

from correlator.finding import Finding, Result, time_as_text
from correlator.output.escape import escape_markdown, render_code_cell
from correlator.output.text import (
    NOTHING,
    render_cause,
    render_declared,
    render_field,
    render_live,
    render_no_findings,
    render_object,
    render_ticket,
    render_who,
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
            *(_render_row(each, linked=linked) for each in result.findings),
            "",
            *(line for each in result.findings for line in _render_detail(each)),
        ]
    else:
        lines += [f"{render_no_findings(result)}.", ""]
    if result.remarks:
        lines += [*(f"- {escape_markdown(each)}" for each in result.remarks), ""]
    if result.incomplete:
        lines += ["## Not checked", ""]
        lines += [
            f"- {escape_markdown(each.what)}: {escape_markdown(each.why)}"
            for each in result.incomplete
        ]
    return "\n".join(lines).rstrip() + "\n"


def _render_row(finding: Finding, *, linked: bool) -> str:
    verdict = finding.verdict
    cells = [
        escape_markdown(render_object(finding)),
        _render_code(render_field(finding)),
        _render_code(render_declared(finding)),
        _render_code(render_live(finding)),
        time_as_text(finding.since) or NOTHING,
        *((verdict.kind, verdict.cause, verdict.response) if verdict else (NOTHING,) * 3),
    ]
    if linked:
        cells += [escape_markdown(render_who(finding)), escape_markdown(render_ticket(finding))]
    return f"| {' | '.join(cells)} |"


def _render_detail(finding: Finding) -> list[str]:
    verdict = finding.verdict
    if verdict is None:
        return []
    title = f"## {escape_markdown(render_object(finding))}, {_render_code(render_field(finding))}"
    lines = [title, "", f"{_render_sentence(verdict.reason)}.", ""]
    if finding.link is not None:
        lines += [f"Who: {escape_markdown(render_cause(finding.link))}.", ""]
    lines += ["Verify:", "", *_render_block(verdict.verify), ""]
    if verdict.suggestion:
        lines += ["Suggestion:", "", *_render_block(verdict.suggestion), ""]
    return lines


def _render_sentence(text: str) -> str:
    return escape_markdown(text[:1].upper() + text[1:])


def _render_block(text: str) -> list[str]:
    return ["```", *(escape_unprintable(line) for line in text.splitlines()), "```"]


def _render_code(text: str) -> str:
    return render_code_cell(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
