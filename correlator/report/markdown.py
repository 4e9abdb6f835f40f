"""The report as Markdown: for a ticket, a wiki, a pull request."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from correlator.output.escape import code, code_cell, markdown
from correlator.report import text
from correlator.report.model import Change, Report, Subject, Write
from correlator.report.model import Seen as Unrecorded
from correlator.report.text import after, before, fate, moment, value

_COLUMNS: Final = ("time", "who", "with", "under", "object", "field", "before")


def render_markdown(report: Report, title: str) -> str:
    """Return *report* under *title*."""
    return "\n".join(_lines(report, title)) + "\n"


def _lines(report: Report, title: str) -> Iterator[str]:
    yield f"# {markdown(title)}"
    yield ""
    yield from (f"- {markdown(line)}" for line in report.summary)
    told = _Told(several=report.is_of_several)
    yield from _section("What happened", list(map(told.event, report.happened)))
    yield from _section("Every change", list(told.changes(report)))
    yield from _section("Refused", list(told.refused(report)))
    yield from _section(
        "Unexplained",
        [
            f"- {told.where(each.subject)} {code(each.path)},"
            f" {code(value(each.declared))} → {code(value(each.live))}: {markdown(each.why)}"
            for each in report.unexplained
        ],
    )
    yield from _section(
        "Without a record",
        [
            f"- **{moment(each.time)}** {told.where(each.subject)}: {markdown(each.what)}."
            f" {code(each.command)}"
            for each in report.unrecorded
        ],
    )
    yield from _section(
        "Left to do",
        [
            f"- {told.where(each.subject)} {code(each.path)}: {markdown(each.why)}."
            f" {code(each.command)}"
            for each in report.obligations
        ],
    )
    yield from _section("Not looked at", [f"- {markdown(each)}" for each in report.incomplete])
    yield from _section("Integrity", list(_integrity(report)))
    yield ""
    yield f"Made at {moment(report.made)} UTC. All times are UTC."


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"## {title}", "", *lines)


@dataclass(frozen=True, slots=True)
class _Told:
    """Tells of writes, with their clusters where there are several."""

    several: bool

    def where(self, subject: Subject) -> str:
        return markdown(text.where(subject, several=self.several))

    def event(self, each: Write | Unrecorded) -> str:
        who = f"- **{moment(each.time)}** {markdown(each.actor)}{_behind(each)}:"
        subject = text.where(each.subject, several=self.several)
        if isinstance(each, Unrecorded):
            return f"{who} {markdown(text.passed(each, subject))}, without a record ({each.sort})."
        said = [who, markdown(text.deed(each, subject)), f"{_verdict(each)}."]
        if each.ticket:
            said.append(f"{markdown(each.ticket)}: {markdown(each.reason)}.".replace(": .", "."))
        return " ".join(said)

    def changes(self, report: Report) -> Iterator[str]:
        if not report.changing:
            return
        yield from _head(
            "time", "who", "with", "under", "object", "field", "before", "after", "now"
        )
        for write in report.changing:
            for change in write.changes:
                yield _row(*self._cells(write, change), fate(change, write))
            if write.unlisted:
                yield _row(
                    moment(write.time), *["…"] * 4, f"{write.unlisted} more fields", *[""] * 3
                )

    def refused(self, report: Report) -> Iterator[str]:
        if not report.denied:
            return
        yield from _head(*_COLUMNS, "wanted")
        for write in report.denied:
            for change in write.changes:
                yield _row(*self._cells(write, change))
            if not write.changes:
                yield _row(*self._begin(write, write.manager), "", "", "")
            if write.unlisted:
                yield _row(*_more(write), "", "")

    def _cells(self, write: Write, change: Change) -> tuple[str, ...]:
        field = (change.path, before(change), after(change))
        return (*self._begin(write, change.manager or write.manager), *map(code_cell, field))

    def _begin(self, write: Write, manager: str) -> tuple[str, ...]:
        return (
            moment(write.time),
            markdown(write.actor),
            markdown(manager),
            markdown(text.under(write)),
            self.where(write.subject),
        )


def _more(write: Write) -> tuple[str, ...]:
    return moment(write.time), "…", "…", "…", "…", f"{write.unlisted} more fields"


def _head(*names: str) -> tuple[str, str]:
    return _row(*names), _row(*["---"] * len(names))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _verdict(write: Write) -> str:
    told = f"({markdown(write.clause)}{_tries(write)})"
    if text.is_act(write):
        return f"{_unstored(write)} {told}".lstrip(" ,")
    return f"{'was refused' if write.is_denied else 'was allowed'}{_unstored(write)} {told}"


def _behind(each: Write | Unrecorded) -> str:
    posed = f" (posed as by {markdown(each.impersonator)})" if each.impersonator else ""
    return f"{posed} from {code(each.address)}" if each.address else posed


def _unstored(write: Write) -> str:
    return ", and was not stored after all" if write.is_lost else ""


def _tries(write: Write) -> str:
    return f", asked {len(write.records)} times" if len(write.records) > 1 else ""


def _integrity(report: Report) -> Iterator[str]:
    yield markdown(report.integrity.statement)
    yield from (f"- {markdown(each)}" for each in report.integrity.findings)
