"""`glasswarden ledger log`: who wrote what by hand."""

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import click

from glasswarden.cli.kinds import KindUnknown, kind_of
from glasswarden.cli.ledger.clusters import cluster_of
from glasswarden.cli.ledger.log_output import FORMATS, Output, Write
from glasswarden.cli.ledger.options import ledger_option, opened
from glasswarden.cli.times import MOMENT
from glasswarden.kube.path_syntax import PathError
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.attempts import RETRY_WINDOW, writes_of
from glasswarden.ledger.follow import Follower
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.question import Question
from glasswarden.ledger.reading import record_in
from glasswarden.ledger.record import AnyEntry, Attempt, Damaged, Record

PAUSE: Final = 0.5
"""Seconds between two looks at what has arrived."""


def _object(
    _context: click.Context, _parameter: click.Parameter, word: str | None
) -> tuple[str | None, str | None]:
    """Return kind and name of `deploy/web`; of `web` alone the name."""
    kind, slash, name = (word or "").rpartition("/")
    if slash and not (kind and name):
        raise click.BadParameter(f"{word!r} is no KIND/NAME; try deploy/web")
    return _kind(_context, _parameter, kind or None), name or None


def _kind(_context: click.Context, _parameter: click.Parameter, word: str | None) -> str | None:
    try:
        return word and kind_of(word)
    except KindUnknown as error:
        raise click.BadParameter(str(error)) from error


def _field(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    try:
        return text and str(parse_path(text.rstrip("/") or "/"))
    except PathError as error:
        raise click.BadParameter(f"{text!r} is no path ({error}); try /spec/replicas") from error


def _id(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    try:
        return text and str(uuid.UUID(text))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no record's id") from error


@click.command("log")
@ledger_option
@click.argument("target", metavar="[KIND/NAME]", required=False, callback=_object)
@click.option("--namespace", "-n", help="Of objects in this namespace; '' for those in none.")
@click.option("--kind", callback=_kind, help="Of this kind: Deployment, deploy, deployments.")
@click.option("--name", help="Of objects with this name.")
@click.option("--field", callback=_field, help="That changed this field, or one below it.")
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
    callback=_id,
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
    with opened(address) as ledger:
        if open_grants:
            output().show_all(_open_grants(ledger, question))
            return
        if not follow:
            writes = _latest(ledger, question)
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


def _latest(ledger: Ledger, question: Question) -> list[Write]:
    """Return the latest writes that *question* wants, oldest first, each with all its tries."""
    records: list[Record] = []
    page = _page(ledger, question)
    while True:
        records += page
        writes = _writes(records[::-1])[-question.limit :]
        if len(page) < question.limit or _is_whole(writes, page[-1], question.limit):
            return writes
        page = _page(ledger, replace(question, before=page[-1].entry.id))


def _page(ledger: Ledger, question: Question) -> list[Record]:
    return [record_in(row) for row in ledger.found(question)]


def _is_whole(writes: Sequence[Write], oldest: Record, limit: int) -> bool:
    """Tell whether no try of *writes* can be older than the *oldest* record that was read."""
    return (
        len(writes) == limit
        and oldest.entry.time < min(write[0].entry.time for write in writes) - RETRY_WINDOW
    )


def _writes(records: Sequence[Record]) -> list[Write]:
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
    past = _latest(ledger, question)
    output.show(past)
    shown = {record.entry.id for write in past for record in write}
    while True:
        arrived = [each for each in follower.arrived() if _is_wanted(each.entry, question)]
        output.show(_writes([each for each in arrived if each.entry.id not in shown]))
        time.sleep(PAUSE)


def _is_wanted(entry: AnyEntry, question: Question) -> bool:
    return question.wants(entry) or isinstance(entry, Damaged)
