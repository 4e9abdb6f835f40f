"""`glasswarden ledger log`: lists direct writes, as a table for people or as JSON for programs.

Text in the table fits the terminal, and cannot control it.
"""

import json
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import click
import msgspec
from msgspec import UNSET

from glasswarden.cli.evidence import cluster_of, ledger_option, open_ledger_at
from glasswarden.cli.options import MOMENT, KindUnknown, kind_of
from glasswarden.kube.paths import PathError, parse_path
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import AnyEntry, Attempt, ChangedField, Cut, Damaged, Record
from glasswarden.ledger.writes import RETRY_WINDOW, Follower, record_in, writes_of
from glasswarden.terminal import escape_unprintable, fit_text, pad_text, width_of

GAP: Final = "  "
INDENT: Final = "    "
COLORS: Final = {"deny": "red", "allow": "green"}
VERDICT: Final = 1
ELASTIC: Final = (2, 3, 4, 5)
NARROWEST: Final = 6
"""The fewest columns at which an actor, a verb, an object or a ticket can be recognised."""


class Line(NamedTuple):
    """A write: its cells, and what it changed."""

    cells: tuple[str, ...]
    details: tuple[str, ...] = ()
    color: str | None = None


DAMAGED: Final = "it cannot be read; glasswarden ledger fsck shows what is wrong with it"
LATER: Final = "a later version wrote it; a later glasswarden can show more"
HEADER: Final = Line(("TIME (UTC)", "VERDICT", "ACTOR", "VERB", "OBJECT", "TICKET"))


def row_of(record: Record, tries: int) -> Line:
    """Return the lines' content for a write whose last try is *record*."""
    attempt = record.entry
    if not isinstance(attempt, Attempt):
        return _line_without_content(attempt)
    verb = attempt.inferred_verb or attempt.operation.lower()
    cells = (
        f"{attempt.time:%Y-%m-%d %H:%M:%S}",
        _render_verdict(attempt),
        attempt.actor,
        f"{verb} (tried {tries} times)" if tries > 1 else verb,
        _render_object(attempt),
        attempt.ticket or "-",
    )
    return Line(
        tuple(map(escape_unprintable, cells)),
        (*map(escape_unprintable, _render_details(attempt)), *([LATER] if record.is_later else [])),
        COLORS.get(attempt.verdict),
    )


def _line_without_content(entry: AnyEntry) -> Line:
    """Return what is known of a record that cannot be read here: its time and its position."""
    is_damaged = isinstance(entry, Damaged)
    cells = (
        f"{entry.time:%Y-%m-%d %H:%M:%S}",
        "damaged" if is_damaged else "later",
        "-",
        "-",
        f"{entry.writer}#{entry.sequence}",
        "-",
    )
    return Line(
        tuple(map(escape_unprintable, cells)), (DAMAGED if is_damaged else LATER,), "yellow"
    )


def widths_of(rows: Sequence[Line], least: Sequence[int]) -> list[int]:
    """Return the columns' widths for *rows*, none less than in *least*."""
    columns = zip(*(row.cells for row in rows), strict=True)
    needed = [max(map(width_of, column)) for column in columns] or [*least]
    return [max(pair) for pair in zip(needed, least or needed, strict=True)]


def lines_of(row: Line, widths: Sequence[int], columns: int) -> Iterator[str]:
    """Yield *row* as lines of no more than *columns*."""
    narrowed = _narrow(widths, columns)
    cells = [pad_text(fit_text(*pair), pair[1]) for pair in zip(row.cells, narrowed, strict=True)]
    line = GAP.join(cells).rstrip()
    if width_of(line) > columns:
        yield fit_text(line, columns)
    else:
        if row.color:
            cells[VERDICT] = click.style(cells[VERDICT], fg=row.color)
        yield GAP.join(cells).rstrip()
    for detail in row.details:
        yield fit_text(f"{INDENT}{detail}", columns)


def _narrow(widths: Sequence[int], columns: int) -> list[int]:
    """Return *widths*, those of names cut where all together would take too many columns."""
    narrowed = [*widths]
    too_many = sum(widths) + len(GAP) * (len(widths) - 1) - columns
    for _ in range(too_many):
        widest = max(ELASTIC, key=narrowed.__getitem__)
        narrowed[widest] = max(narrowed[widest] - 1, NARROWEST)
    return narrowed


def _render_verdict(attempt: Attempt) -> str:
    """Return the verdict, with its clause unless it is the usual one: `deny`, `deny (marks)`."""
    if attempt.clause != "guard":
        return f"{attempt.verdict} ({attempt.clause})"
    # What the guard lets in, it lets in by its mode.
    return "deny" if attempt.verdict == "deny" else f"{attempt.verdict} ({attempt.mode})"


def _render_object(attempt: Attempt) -> str:
    where = f" -n {attempt.namespace}" if attempt.namespace else ""
    return f"{attempt.kind.lower()}/{attempt.name}{where}"


def _render_details(attempt: Attempt) -> Iterator[str]:
    for change in attempt.changes:
        yield render_change(change)
    if attempt.unlisted:
        yield f"and {attempt.unlisted} more"
    if attempt.reason:
        yield f"reason: {attempt.reason}"


def render_change(change: ChangedField) -> str:
    """Return what *change* did; values that are hidden stay so."""
    return f"{change.path}  {_render_old(change)} → {_new(change)}"


def _render_old(change: ChangedField) -> str:
    return _render_value(change.old, change.old_masked, change.old_cut)


def _new(change: ChangedField) -> str:
    return _render_value(change.new, change.new_masked, change.new_cut)


def _render_value(plain: object, masked: str, cut: Cut | None) -> str:
    if masked:
        return "(hidden)"
    if cut is not None:
        return f"({cut.length} bytes)"
    if plain is UNSET:
        return "(none)"
    return json.dumps(plain, ensure_ascii=False)


Write: TypeAlias = tuple[Record, ...]
"""The tries of one write, oldest first."""

UNLIMITED: Final = 10_000
"""Columns where there is no terminal: a program reads everything."""


class Output(Protocol):
    """Where writes go."""

    def show(self, writes: Sequence[Write]) -> None:
        """Show *writes*; more may come."""

    def show_all(self, writes: Sequence[Write]) -> None:
        """Show *writes*, and that there are no others."""


class Table:
    """Lines for people: one a write, and one below it a changed field."""

    def __init__(self) -> None:
        self._columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED
        self._widths: list[int] = []

    def show(self, writes: Sequence[Write]) -> None:
        """Show *writes*; columns only ever grow, so that those below stand under those above."""
        rows = [row_of(write[-1], len(write)) for write in writes]
        if rows and not self._widths:
            rows.insert(0, HEADER)
        self._widths = widths_of(rows, self._widths)
        for row in rows:
            for line in lines_of(row, self._widths, self._columns):
                click.echo(line)

    def show_all(self, writes: Sequence[Write]) -> None:
        """Show *writes*, or that there are none."""
        if not writes:
            click.echo("Nothing was recorded that answers this.", err=True)
        self.show(writes)


class JsonLines:
    """One JSON document a line."""

    def show(self, writes: Sequence[Write]) -> None:
        """Show *writes*; more may come."""
        for write in writes:
            click.echo(json.dumps(_document_of(write)))

    show_all = show


class Json(JsonLines):
    """One JSON array; while following, which has no end, a document a line."""

    def show_all(self, writes: Sequence[Write]) -> None:
        """Show *writes*, and that there are no others."""
        click.echo(json.dumps([_document_of(write) for write in writes], indent=2))


FORMATS: Final[Mapping[str, Callable[[], Output]]] = {
    "table": Table,
    "json": Json,
    "jsonl": JsonLines,
}


def _document_of(write: Write) -> dict[str, Any]:
    """Return the last try as it was recorded, with its digest and the ids of all tries."""
    last = write[-1]
    return _json_of(last) | {"digest": last.digest, "tries": [record.entry.id for record in write]}


def _json_of(record: Record) -> dict[str, Any]:
    recorded: dict[str, Any]
    if isinstance(record.entry, Damaged):
        recorded = msgspec.to_builtins(record.entry)
        return recorded | {"type": "damaged"}
    recorded = json.loads(record.body)
    return recorded | {"later": True} if record.is_later else recorded


PAUSE: Final = 0.5
"""Seconds between two reads of new records."""


def _object_of(
    _context: click.Context, _parameter: click.Parameter, word: str | None
) -> tuple[str | None, str | None]:
    """Return kind and name of `deploy/web`; of `web` alone the name."""
    kind, slash, name = (word or "").rpartition("/")
    if slash and not (kind and name):
        raise click.BadParameter(f"{word!r} is no KIND/NAME; try deploy/web")
    return _parse_kind(_context, _parameter, kind or None), name or None


def _parse_kind(
    _context: click.Context, _parameter: click.Parameter, word: str | None
) -> str | None:
    try:
        return word and kind_of(word)
    except KindUnknown as error:
        raise click.BadParameter(str(error)) from error


def _parse_field(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> str | None:
    try:
        return text and str(parse_path(text.rstrip("/") or "/"))
    except PathError as error:
        raise click.BadParameter(f"{text!r} is no path ({error}); try /spec/replicas") from error


def _parse_id(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    try:
        return text and str(uuid.UUID(text))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no record's id") from error


@click.command("log")
@ledger_option
@click.argument("target", metavar="[KIND/NAME]", required=False, callback=_object_of)
@click.option("--namespace", "-n", help="Of objects in this namespace; '' for those in none.")
@click.option("--kind", callback=_parse_kind, help="Of this kind: Deployment, deploy, deployments.")
@click.option("--name", help="Of objects with this name.")
@click.option("--field", callback=_parse_field, help="That changed this field, or one below it.")
@click.option("--actor", help="By this user.")
@click.option("--ticket", help="Under this ticket.")
@click.option("--app", metavar="[NAMESPACE/]NAME", help="To objects of this application.")
@click.option("--grant", help="Under this grant.")
@click.option("--denied", is_flag=True, help="Only what was denied.")
@click.option(
    "--open-grants", is_flag=True, help="Only how each grant that is open now was last recorded."
)
@click.option("--since", type=MOMENT, help="Not before this time: 2h, 7d, 2026-03-01T12:00:00Z.")
@click.option("--until", type=MOMENT, help="Before this time.")
@click.option("--cluster", help="In this cluster.")
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="Writes to show."
)
@click.option(
    "--before",
    metavar="ID",
    callback=_parse_id,
    help="Only what is older than this record: the next page.",
)
@click.option(
    "--format",
    "output",
    type=click.Choice(sorted(FORMATS)),
    default="table",
    show_default=True,
    callback=lambda _context, _parameter, name: FORMATS[name],
    help="For people, or for programs.",
)
@click.option("--follow", "-f", is_flag=True, help="Then show what is recorded, as it comes.")
def command(
    address: str,
    target: tuple[str | None, str | None],
    namespace: str | None,
    kind: str | None,
    name: str | None,
    field: str | None,
    actor: str | None,
    ticket: str | None,
    app: str | None,
    grant: str | None,
    denied: bool,  # noqa: FBT001 - a flag
    open_grants: bool,  # noqa: FBT001 - a flag
    since: datetime | None,
    until: datetime | None,
    cluster: str | None,
    limit: int,
    before: str | None,
    output: Callable[[], Output],
    follow: bool,  # noqa: FBT001 - a flag
) -> None:
    """Show who wrote what by hand, newest first: to KIND/NAME, or to anything.

    Tries of one write are shown once, with their number. With --follow the oldest comes first, and
    Ctrl-C ends it. A record that cannot be read is shown as damaged, whatever it once was.
    """
    if follow and (open_grants or before):
        raise click.UsageError("--follow shows what comes; --open-grants and --before what was")
    app_namespace, slash, app_name = (app or "").rpartition("/")
    question = Question(
        cluster=cluster,
        kind=target[0] or kind,
        namespace=namespace,
        name=target[1] or name,
        field=field,
        actor=actor,
        ticket=ticket,
        app=app and app_name,
        app_namespace=app_namespace if slash else None,
        grant=grant,
        verdict="deny" if denied else None,
        since=since,
        until=until,
        before=before,
        limit=limit,
    )
    with open_ledger_at(address) as ledger:
        if open_grants:
            output().show_all(_open_grants(ledger, question))
            return
        if not follow:
            writes = _find_latest(ledger, question)
            output().show_all(writes[::-1])
            if len(writes) == limit and output is FORMATS["table"]:
                click.echo(f"Older ones: --before {writes[0][-1].entry.id}", err=True)
            return
        with suppress(KeyboardInterrupt):
            _follow(ledger, question, output())


def _open_grants(ledger: Ledger, question: Question) -> list[Write]:
    """Return how the grants were last recorded that are open now and *question* wants."""
    cluster = cluster_of(ledger, question.cluster)
    found = ledger.open_grants(cluster, datetime.now(UTC))
    wanted = [
        record for record in found if question.wants(record.entry) and _is_older(record, question)
    ]
    return [(record,) for record in wanted[: question.limit]]


def _is_older(record: Record, question: Question) -> bool:
    return question.before is None or record.entry.id < question.before


def _find_latest(ledger: Ledger, question: Question) -> list[Write]:
    """Return the latest writes that *question* wants, oldest first, each with all its tries."""
    records: list[Record] = []
    page = _read_page(ledger, question)
    while True:
        records += page
        writes = _group_tries(records[::-1])[-question.limit :]
        if len(page) < question.limit or _is_whole(writes, page[-1], question.limit):
            return writes
        page = _read_page(ledger, replace(question, before=page[-1].entry.id))


def _read_page(ledger: Ledger, question: Question) -> list[Record]:
    return [record_in(row) for row in ledger.find_rows(question)]


def _is_whole(writes: Sequence[Write], oldest: Record, limit: int) -> bool:
    """Return whether no try of *writes* can be older than the *oldest* record that was read."""
    return (
        len(writes) == limit
        and oldest.entry.time < min(write[0].entry.time for write in writes) - RETRY_WINDOW
    )


def _group_tries(records: Sequence[Record]) -> list[Write]:
    """Return *records*, oldest first, with the tries of one write together; by their last."""
    by_id = {record.entry.id: record for record in records}
    attempts = (record.entry for record in records if isinstance(record.entry, Attempt))
    writes = [tuple(by_id[each.id] for each in tries) for tries in writes_of(attempts)]
    # What cannot be read, or only by a later version, stands for itself.
    writes += [(record,) for record in records if not isinstance(record.entry, Attempt)]
    return sorted(writes, key=lambda write: write[-1].entry.id)


def _follow(ledger: Ledger, question: Question, output: Output) -> None:
    """Show the latest writes, then every other as it comes; Ctrl-C ends it."""
    follower = Follower(ledger)  # before the question: what arrives meanwhile is seen by both
    past = _find_latest(ledger, question)
    output.show(past)
    shown = {record.entry.id for write in past for record in write}
    while True:
        arrived = [each for each in follower.poll() if _is_wanted(each.entry, question)]
        output.show(_group_tries([each for each in arrived if each.entry.id not in shown]))
        time.sleep(PAUSE)


def _is_wanted(entry: AnyEntry, question: Question) -> bool:
    return question.wants(entry) or isinstance(entry, Damaged)
