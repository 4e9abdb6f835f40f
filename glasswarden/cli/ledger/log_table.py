"""A write as lines of text that fit a terminal, and cannot do anything to it."""

import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import click
from msgspec import UNSET

from glasswarden.ledger.record import AnyEntry, Attempt, ChangedField, Cut, Damaged, Record
from glasswarden.printable import fitted, padded, printable, width_of

GAP: Final = "  "
INDENT: Final = "    "
COLORS: Final = {"deny": "red", "allow": "green"}
VERDICT: Final = 1
ELASTIC: Final = (2, 3, 4, 5)
NARROWEST: Final = 6
"""Columns of an actor, a verb, an object or a ticket that still tell something."""


class Line(NamedTuple):
    """A write: its cells, and what it changed."""

    cells: tuple[str, ...]
    details: tuple[str, ...] = ()
    color: str | None = None


DAMAGED: Final = "it cannot be read; glasswarden ledger fsck says what is wrong with it"
LATER: Final = "a later version wrote it; a later glasswarden can say more"
HEADER: Final = Line(("TIME (UTC)", "VERDICT", "ACTOR", "VERB", "OBJECT", "TICKET"))


def row_of(record: Record, tries: int) -> Line:
    """Return the lines' content for a write whose last try is *record*."""
    attempt = record.entry
    if not isinstance(attempt, Attempt):
        return _without_content(attempt)
    verb = attempt.inferred_verb or attempt.operation.lower()
    cells = (
        f"{attempt.time:%Y-%m-%d %H:%M:%S}",
        _verdict(attempt),
        attempt.actor,
        f"{verb} (tried {tries} times)" if tries > 1 else verb,
        _object(attempt),
        attempt.ticket or "-",
    )
    return Line(
        tuple(map(printable, cells)),
        (*map(printable, _details(attempt)), *([LATER] if record.is_later else [])),
        COLORS.get(attempt.verdict),
    )


def _without_content(entry: AnyEntry) -> Line:
    """Return what can be told of what cannot be read here: when, and where it stands."""
    is_damaged = isinstance(entry, Damaged)
    cells = (
        f"{entry.time:%Y-%m-%d %H:%M:%S}",
        "damaged" if is_damaged else "later",
        "-",
        "-",
        f"{entry.writer}#{entry.sequence}",
        "-",
    )
    return Line(tuple(map(printable, cells)), (DAMAGED if is_damaged else LATER,), "yellow")


def widths_of(rows: Sequence[Line], least: Sequence[int]) -> list[int]:
    """Return the columns' widths for *rows*, none less than in *least*."""
    columns = zip(*(row.cells for row in rows), strict=True)
    needed = [max(map(width_of, column)) for column in columns] or [*least]
    return [max(pair) for pair in zip(needed, least or needed, strict=True)]


def lines_of(row: Line, widths: Sequence[int], columns: int) -> Iterator[str]:
    """Yield *row* as lines of no more than *columns*."""
    narrowed = _narrowed(widths, columns)
    cells = [padded(fitted(*pair), pair[1]) for pair in zip(row.cells, narrowed, strict=True)]
    line = GAP.join(cells).rstrip()
    if width_of(line) > columns:
        yield fitted(line, columns)
    else:
        if row.color:
            cells[VERDICT] = click.style(cells[VERDICT], fg=row.color)
        yield GAP.join(cells).rstrip()
    for detail in row.details:
        yield fitted(f"{INDENT}{detail}", columns)


def _narrowed(widths: Sequence[int], columns: int) -> list[int]:
    """Return *widths*, those of names cut where all together would take too many columns."""
    narrowed = [*widths]
    too_many = sum(widths) + len(GAP) * (len(widths) - 1) - columns
    for _ in range(too_many):
        widest = max(ELASTIC, key=narrowed.__getitem__)
        narrowed[widest] = max(narrowed[widest] - 1, NARROWEST)
    return narrowed


def _verdict(attempt: Attempt) -> str:
    """Return the verdict, with its clause unless it is the usual one: `deny`, `deny (marks)`."""
    if attempt.clause != "guard":
        return f"{attempt.verdict} ({attempt.clause})"
    # What the guard lets in, it lets in by its mode.
    return "deny" if attempt.verdict == "deny" else f"{attempt.verdict} ({attempt.mode})"


def _object(attempt: Attempt) -> str:
    where = f" -n {attempt.namespace}" if attempt.namespace else ""
    return f"{attempt.kind.lower()}/{attempt.name}{where}"


def _details(attempt: Attempt) -> Iterator[str]:
    for change in attempt.changes:
        yield change_in_words(change)
    if attempt.unlisted:
        yield f"and {attempt.unlisted} more"
    if attempt.reason:
        yield f"reason: {attempt.reason}"


def change_in_words(change: ChangedField) -> str:
    """Return what *change* did; values that are hidden stay so."""
    return f"{change.path}  {_old(change)} → {_new(change)}"


def _old(change: ChangedField) -> str:
    return _value(change.old, change.old_masked, change.old_cut)


def _new(change: ChangedField) -> str:
    return _value(change.new, change.new_masked, change.new_cut)


def _value(plain: object, masked: str, cut: Cut | None) -> str:
    if masked:
        return "(hidden)"
    if cut is not None:
        return f"({cut.length} bytes)"
    if plain is UNSET:
        return "(none)"
    return json.dumps(plain, ensure_ascii=False)
