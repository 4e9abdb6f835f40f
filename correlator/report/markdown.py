"""The report as Markdown: for a ticket, a wiki, a pull request."""

from collections.abc import Iterator

from correlator.report.model import Report, Write
from correlator.report.words import after, before, code, deed, fate, markdown, moment
from correlator.standing import Answer


def render_markdown(report: Report, title: str) -> str:
    """Return *report* under *title*."""
    return "\n".join(_lines(report, title)) + "\n"


def _lines(report: Report, title: str) -> Iterator[str]:
    yield f"# {markdown(title)}"
    yield ""
    yield from (f"- {markdown(line)}" for line in report.summary)
    yield from _section("What happened", [_event(write) for write in report.writes])
    yield from _section("Every change", list(_changes(report)))
    yield from _section(
        "Unexplained",
        [
            f"- {markdown(str(each.subject))} {code(each.path)}: {markdown(each.why)}"
            for each in report.unexplained
        ],
    )
    yield from _section(
        "Without a record",
        [
            f"- **{moment(each.time)}** {markdown(str(each.subject))}: {markdown(each.what)}."
            f" {code(each.command)}"
            for each in report.unrecorded
        ],
    )
    yield from _section(
        "Left to do",
        [
            f"- {markdown(str(each.subject))} {code(each.path)}: {markdown(each.why)}."
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


def _event(write: Write) -> str:
    verdict = "was refused" if write.is_denied else "was allowed"
    words = [
        f"- **{moment(write.time)}** {markdown(write.actor)}{_behind(write)}:",
        f"{markdown(deed(write))} {markdown(str(write.subject))}",
        f"{verdict}{_unstored(write)} ({markdown(write.clause)}{_tries(write)}).",
    ]
    if write.ticket:
        words.append(f"{markdown(write.ticket)}: {markdown(write.reason)}.".replace(": .", "."))
    return " ".join(words)


def _behind(write: Write) -> str:
    posed = f" (posed as by {markdown(write.impersonator)})" if write.impersonator else ""
    return f"{posed} from {code(write.address)}" if write.address else posed


def _unstored(write: Write) -> str:
    is_lost = write.stored is Answer.NO and not write.is_denied
    return ", and was not stored after all" if is_lost else ""


def _tries(write: Write) -> str:
    return f", asked {len(write.records)} times" if len(write.records) > 1 else ""


def _changes(report: Report) -> Iterator[str]:
    if not any(write.changes for write in report.admitted):
        return
    yield "| time | who | object | field | before | after | now |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for write in report.admitted:
        for change in write.changes:
            cells = (
                moment(write.time),
                markdown(write.actor),
                markdown(str(write.subject)),
                code(change.path),
                code(before(change)),
                code(after(change)),
                fate(change),
            )
            yield f"| {' | '.join(cells)} |"
        if write.unlisted:
            yield f"| {moment(write.time)} | … | … | {write.unlisted} more fields | | | |"


def _integrity(report: Report) -> Iterator[str]:
    yield markdown(report.integrity.statement)
    yield from (f"- {markdown(each)}" for each in report.integrity.findings)
