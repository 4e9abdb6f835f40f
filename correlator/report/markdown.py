"""The report as Markdown: for a ticket, a wiki, a pull request."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from correlator.output.escape import escape_markdown, render_code, render_code_cell
from correlator.report import text
from correlator.report.model import Change, Report, Subject, Write
from correlator.report.model import Seen as Unrecorded
from correlator.report.text import render_new, render_old, render_state, render_time, render_value

_COLUMNS: Final = ("time", "who", "with", "under", "object", "field", "before")


def render_markdown(report: Report, title: str) -> str:
    """Return *report* under *title*."""
    return "\n".join(_render_lines(report, title)) + "\n"


def _render_lines(report: Report, title: str) -> Iterator[str]:
    yield f"# {escape_markdown(title)}"
    yield ""
    yield from (f"- {escape_markdown(line)}" for line in report.summary)
    writes = _WriteRenderer(several=report.is_of_several)
    yield from _render_section("What happened", list(map(writes.render_event, report.happened)))
    yield from _render_section("Every change", list(writes.render_changes(report)))
    yield from _render_section("Denied", list(writes.render_denied(report)))
    yield from _render_section(
        "Unexplained",
        [
            f"- {writes.render_subject(each.subject)} {render_code(each.path)},"
            f" {render_code(render_value(each.declared))} → {render_code(render_value(each.live))}:"
            f" {escape_markdown(each.why)}"
            for each in report.unexplained
        ],
    )
    yield from _render_section(
        "Without a record",
        [
            f"- **{render_time(each.time)}** {writes.render_subject(each.subject)}:"
            f" {escape_markdown(each.what)}. {render_code(each.command)}"
            for each in report.unrecorded
        ],
    )
    yield from _render_section(
        "Left to do",
        [
            f"- {writes.render_subject(each.subject)} {render_code(each.path)}:"
            f" {escape_markdown(each.why)}. {render_code(each.command)}"
            for each in report.obligations
        ],
    )
    yield from _render_section(
        "Not checked", [f"- {escape_markdown(each)}" for each in report.incomplete]
    )
    yield from _render_section("Integrity", list(_render_integrity(report)))
    yield ""
    yield f"Made at {render_time(report.made)} UTC. All times are UTC."


def _render_section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"## {title}", "", *lines)


@dataclass(frozen=True, slots=True)
class _WriteRenderer:
    """Renders writes, with their clusters where there are several."""

    several: bool

    def render_subject(self, subject: Subject) -> str:
        return escape_markdown(text.render_subject(subject, several=self.several))

    def render_event(self, each: Write | Unrecorded) -> str:
        who = f"- **{render_time(each.time)}** {escape_markdown(each.actor)}{_render_origin(each)}:"
        subject = text.render_subject(each.subject, several=self.several)
        if isinstance(each, Unrecorded):
            what = escape_markdown(text.render_unrecorded(each, subject))
            return f"{who} {what}, without a record ({each.sort})."
        parts = [
            who,
            escape_markdown(text.render_action(each, subject)),
            f"{_render_verdict(each)}.",
        ]
        if each.ticket:
            parts.append(
                f"{escape_markdown(each.ticket)}: {escape_markdown(each.reason)}.".replace(
                    ": .", "."
                )
            )
        return " ".join(parts)

    def render_changes(self, report: Report) -> Iterator[str]:
        if not report.changing:
            return
        yield from _render_head(
            "time", "who", "with", "under", "object", "field", "before", "after", "now"
        )
        for write in report.changing:
            for change in write.changes:
                yield _render_row(*self._cells_of(write, change), render_state(change, write))
            if write.unlisted:
                yield _render_row(
                    render_time(write.time), *["…"] * 4, f"{write.unlisted} more fields", *[""] * 3
                )

    def render_denied(self, report: Report) -> Iterator[str]:
        if not report.denied:
            return
        yield from _render_head(*_COLUMNS, "wanted")
        for write in report.denied:
            for change in write.changes:
                yield _render_row(*self._cells_of(write, change))
            if not write.changes:
                yield _render_row(*self._first_cells_of(write, write.manager), "", "", "")
            if write.unlisted:
                yield _render_row(*_more_cells_of(write), "", "")

    def _cells_of(self, write: Write, change: Change) -> tuple[str, ...]:
        field = (change.path, render_old(change), render_new(change))
        return (
            *self._first_cells_of(write, change.manager or write.manager),
            *map(render_code_cell, field),
        )

    def _first_cells_of(self, write: Write, manager: str) -> tuple[str, ...]:
        return (
            render_time(write.time),
            escape_markdown(write.actor),
            escape_markdown(manager),
            escape_markdown(text.render_authority(write)),
            self.render_subject(write.subject),
        )


def _more_cells_of(write: Write) -> tuple[str, ...]:
    return render_time(write.time), "…", "…", "…", "…", f"{write.unlisted} more fields"


def _render_head(*names: str) -> tuple[str, str]:
    return _render_row(*names), _render_row(*["---"] * len(names))


def _render_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _render_verdict(write: Write) -> str:
    clause = f"({escape_markdown(write.clause)}{_render_tries(write)})"
    if text.is_grant_act(write):
        return f"{_render_unstored(write)} {clause}".lstrip(" ,")
    return f"{'was denied' if write.is_denied else 'was allowed'}{_render_unstored(write)} {clause}"


def _render_origin(each: Write | Unrecorded) -> str:
    who = f" (impersonated by {escape_markdown(each.impersonator)})" if each.impersonator else ""
    return f"{who} from {render_code(each.address)}" if each.address else who


def _render_unstored(write: Write) -> str:
    return ", but was not stored" if write.is_lost else ""


def _render_tries(write: Write) -> str:
    return f", {len(write.records)} tries" if len(write.records) > 1 else ""


def _render_integrity(report: Report) -> Iterator[str]:
    yield escape_markdown(report.integrity.statement)
    yield from (f"- {escape_markdown(each)}" for each in report.integrity.findings)
