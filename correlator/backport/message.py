"""What is said about a backport: to the terminal, and in the commit."""

from collections.abc import Iterable, Sequence
from typing import Final

from correlator.backport.place import Outcome, Placed, Unplaced
from correlator.output.text import value_text
from glasswarden.kube.compare import Value
from glasswarden.printable import printable

LONGEST_VALUE: Final = 60
LONGEST_SUBJECT: Final = 72


def commit_message(placed: Sequence[Placed]) -> str:
    """Return the message of the commit that declares *placed*."""
    tickets, actors, records = (
        _distinct(words)
        for words in (
            (each.wanted.ticket for each in placed),
            (each.wanted.actor for each in placed),
            (record for each in placed for record in each.wanted.records),
        )
    )
    about = f" under {', '.join(tickets)}" if tickets else ""
    fields = "1 field" if len(placed) == 1 else f"{len(placed)} fields"
    subject = f"Declare {fields} changed by hand{about}"
    trailers = [
        *(f"Ticket: {ticket}" for ticket in tickets),
        *(f"Changed-by: {actor}" for actor in actors),
        *(f"Glasswarden-record: {record}" for record in records),
    ]
    lines = [_cut(subject, LONGEST_SUBJECT), "", *map(change_text, placed), "", *trailers]
    return "\n".join(lines) + "\n"


def change_text(placed: Placed) -> str:
    """Return one field on a line: before, and now."""
    wanted = placed.wanted
    if wanted.is_deletion:
        return printable(f"{wanted.ref}: deleted")
    before, now = _short(placed.declared), _short(wanted.value)
    return f"{printable(str(wanted))}: {before} → {now}"


def outcome_lines(outcome: Outcome, gone: int) -> list[str]:
    """Return what became of each field, for the terminal."""
    lines = []
    if outcome.placed:
        lines += ["Placed, rendered again and compared with the live value:"]
        lines += [
            line
            for each in outcome.placed
            for line in (f"  {change_text(each)}", f"    {printable(each.where)}")
        ]
    if outcome.already:
        lines += ["In Git already:", *(f"  {printable(str(each))}" for each in outcome.already)]
    if gone:
        lines += [f"No longer live: {gone} of the changed fields."]
    if outcome.unplaced:
        lines += ["Not placed:"]
        lines += [f"  {line}" for each in outcome.unplaced for line in unplaced_lines(each)]
    return lines or ["Nothing of it is live: there is nothing to write back."]


def unplaced_lines(unplaced: Unplaced) -> list[str]:
    """Return what could not be placed, and why."""
    return [printable(str(unplaced.wanted)), f"  {printable(unplaced.why)}"]


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(printable(each) for each in words if each))


def _short(value: Value) -> str:
    return _cut(value_text(value), LONGEST_VALUE)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
