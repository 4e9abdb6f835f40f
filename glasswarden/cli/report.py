"""`glasswarden report`: what was changed by hand, for whoever reviews the incident."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec

from correlator.declared import DeclaredUnreadable, Release, parse_address, read_declared
from correlator.report.compose import Surroundings, compose
from correlator.report.markdown import render_markdown
from correlator.report.model import Integrity, Report, Scope, as_json, schema
from correlator.report.page import render_page
from correlator.report.table import render_csv
from correlator.standing import Answer, Looked, Lookup, NotKnown
from glasswarden.cli.kubectl import find_kubectl
from glasswarden.cli.ledger.options import (
    keys_folder,
    keys_option,
    ledger_option,
    opened,
    public_key_option,
)
from glasswarden.cli.ledger.words import counted
from glasswarden.cli.live import Live
from glasswarden.cli.times import MOMENT
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.mask_keys import open_masks
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.question import Question
from glasswarden.ledger.record import Attempt

PAGE: Final = 500
FORMATS: Final = {"markdown": ".md", "html": ".html", "json": ".json", "csv": ".csv"}
MOST_FINDINGS: Final = 20
"""More findings of fsck than these are counted, not listed: the ledger itself is then the story."""


@click.command("report")
@ledger_option
@keys_option
@public_key_option
@click.option("--ticket", metavar="ID", help="What was done under this ticket.")
@click.option("--actor", metavar="USER", help="What this person did.")
@click.option("--app", metavar="NAME", help="What was done to this application's objects.")
@click.option("--namespace", "-n", metavar="NAME", help="What was done in this namespace.")
@click.option("--cluster", metavar="NAME", help="What was done in this cluster.")
@click.option("--since", type=MOMENT, help="Not before: 7d, 2h, or a date.")
@click.option("--until", type=MOMENT, help="Not after.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="By the output's name where it is not given; else markdown.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file to write."
)
@click.option("--git", metavar="DIR|URL@REV", help="What is declared, to see what it took over.")
@click.option("--path", default="", metavar="FOLDER", help="The folder in --git.")
@click.option("--no-live", is_flag=True, help="Do not ask the cluster what is still live.")
@click.option("--context", metavar="NAME", help="The kubeconfig's context.")
@click.option("--kubeconfig", metavar="FILE", help="The kubeconfig.")
@click.option("--verify", is_flag=True, help="Verify the whole ledger, as `ledger fsck` does.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _option, wanted: _print_schema(ctx) if wanted else None,
    help="Print the JSON Schema of --format json, and end.",
)
def command(
    address: str,
    keys: Path | None,
    public_keys: tuple[str, ...],
    ticket: str | None,
    actor: str | None,
    app: str | None,
    namespace: str | None,
    cluster: str | None,
    since: datetime | None,
    until: datetime | None,
    form: str | None,
    output: Path | None,
    git: str | None,
    path: str,
    no_live: bool,  # noqa: FBT001 - click hands it over by name
    context: str | None,
    kubeconfig: str | None,
    verify: bool,  # noqa: FBT001
) -> None:
    """Report what was changed by hand: who, when, why, is it still live, is it in Git.

    \b
      glasswarden report --ticket INC-42 -o report.html

    What is still live is asked of the cluster through kubectl, what Git declares of --git. What
    could not be looked at is said in the report.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    question = Question(
        ticket=ticket,
        actor=actor,
        app=app,
        namespace=namespace,
        cluster=cluster,
        since=since,
        until=until,
        limit=PAGE,
    )
    if not any((ticket, actor, app, namespace, cluster, since, until)):
        raise click.UsageError("say what it is about: --ticket, --since, --app, --actor, …")
    scope = Scope(
        ticket=ticket or "",
        actor=actor or "",
        app=app or "",
        namespace=namespace or "",
        cluster=cluster or "",
        since=since,
        until=until,
    )
    live = None if no_live else Live(find_kubectl(_flags(context, kubeconfig)))
    with opened(address) as ledger:
        now = datetime.now(UTC)
        attempts = sorted(_attempts(ledger, question), key=lambda each: (each.time, each.id))
        declared, incomplete = _declared(git, path) if git else (None, [])
        looked = Looked(live or _nobody_looked, declared, masks_of(keys, address))
        clusters = {attempt.cluster for attempt in attempts}
        around = Surroundings(
            standing=looked,
            open_grants=_open_grants(ledger, clusters, now),
            integrity=_integrity(ledger, public_keys) if verify else _not_verified(),
        )
        report = compose(scope, attempts, around, now)
    if live is not None:
        incomplete += [f"{ref} could not be read: {why}" for ref, why in live.unread.items()]
    report = msgspec.structs.replace(report, incomplete=tuple(incomplete))
    _write(_rendered(report, form or _by_name(output), _title(scope)), output)


def _print_schema(ctx: click.Context) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())
    ctx.exit()


def _attempts(ledger: Ledger, question: Question) -> Iterator[Attempt]:
    """Yield what *question* wants, all pages of it, newest first."""
    while page := ledger.ask(question):
        yield from (record.entry for record in page if isinstance(record.entry, Attempt))
        question = replace(question, before=page[-1].entry.id)


def _open_grants(ledger: Ledger, clusters: set[str], now: datetime) -> frozenset[str]:
    return frozenset(
        record.entry.grant
        for cluster in clusters
        for record in ledger.open_grants(cluster, now)
        if isinstance(record.entry, Attempt)
    )


def masks_of(keys: Path | None, address: str) -> Masks | None:
    """Return the masking keys, where they are at hand: without them masked values stay untold."""
    try:
        return open_masks(keys_folder(keys, address))
    except (KeyUnusable, click.ClickException):
        return None


def _nobody_looked(_ref: Ref) -> Object | None:
    raise NotKnown


def _declared(git: str, path: str) -> tuple[Lookup, list[str]]:
    """Return a look into what Git declares, and what of it could not be read."""
    try:
        manifests = read_declared(parse_address(git), path, Release())
    except DeclaredUnreadable as error:
        raise click.ClickException(str(error)) from error
    by_name = {_name(ref_of(each.manifest)): each.manifest for each in manifests.objects}
    incomplete = [f"{each.what}: {each.why}" for each in manifests.incomplete]

    def declared(ref: Ref) -> Object | None:
        # A manifest may leave its namespace to whoever applies it.
        return by_name.get(_name(ref)) or by_name.get(_name(replace(ref, namespace="")))

    return declared, incomplete


def _name(ref: Ref) -> tuple[str, str, str, str]:
    return ref.group, ref.kind, ref.namespace, ref.name


def _integrity(ledger: Ledger, public_keys: tuple[str, ...]) -> Integrity:
    run = Fsck(ledger, Trust(frozenset(public_keys) or None))
    findings = [str(finding) for finding in run.findings()]
    tally = run.tally
    read = f"{counted(tally.records, 'record')} in {counted(tally.chains, 'chain')}"
    if not findings:
        whose = "" if public_keys else " by the keys found in it: none was given to trust"
        return Integrity(verdict=Answer.YES, statement=f"The ledger verifies, {read}{whose}.")
    more = [f"… and {len(findings) - MOST_FINDINGS} more"] if len(findings) > MOST_FINDINGS else []
    return Integrity(
        verdict=Answer.NO,
        statement=f"The ledger does NOT verify: {counted(len(findings), 'finding')}, {read}.",
        findings=(*findings[:MOST_FINDINGS], *more),
    )


def _not_verified() -> Integrity:
    return Integrity(
        verdict=Answer.UNKNOWN,
        statement="The ledger was not verified for this report; --verify does.",
    )


def _flags(context: str | None, kubeconfig: str | None) -> list[str]:
    given = {"context": context, "kubeconfig": kubeconfig}
    return [f"--{name}={value}" for name, value in given.items() if value is not None]


def _title(scope: Scope) -> str:
    named = [scope.ticket, scope.app, scope.namespace, scope.actor, scope.cluster]
    return f"Changes by hand: {', '.join(filter(None, named)) or 'all'}"


def _by_name(output: Path | None) -> str:
    suffix = output.suffix if output else ""
    return next((form for form, ending in FORMATS.items() if ending == suffix), "markdown")


def _rendered(report: Report, form: str, title: str) -> str:
    renderers: dict[str, Callable[[], str]] = {
        "markdown": lambda: render_markdown(report, title),
        "html": lambda: render_page(report, title),
        "json": lambda: as_json(report).decode(),
        "csv": lambda: render_csv(report),
    }
    return renderers[form]()


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from error
    click.echo(f"Wrote {output}", err=True)
