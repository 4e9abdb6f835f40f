"""`glasswarden report`: what was changed by hand, for whoever reviews the incident."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from correlator.report.compose import Surroundings, compose
from correlator.report.markdown import render_markdown
from correlator.report.model import Integrity, Report, Scope, as_json, schema
from correlator.report.page import render_page
from correlator.report.table import render_csv
from correlator.report.unrecorded import unrecorded_in
from correlator.standing import Answer, Looked, NotKnown
from glasswarden.cli.audit import audit_log_from, audit_log_option
from glasswarden.cli.git import declared_in, git_options
from glasswarden.cli.inputs import read_policy
from glasswarden.cli.kubectl_options import kubectl_of, kubectl_options
from glasswarden.cli.ledger.masks import masks_at
from glasswarden.cli.ledger.options import (
    keys_option,
    ledger_option,
    opened,
    public_key_option,
)
from glasswarden.cli.ledger.words import counted
from glasswarden.cli.live import live_option, looking
from glasswarden.cli.selection import attempts_for, question_of, scope_of, selection_options
from glasswarden.cli.times import now
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt
from glasswarden.policy.policy import DEFAULT

FORMATS: Final = {"markdown": ".md", "html": ".html", "json": ".json", "csv": ".csv"}
MOST_FINDINGS: Final = 20
"""More findings of fsck than these are counted, not listed: the ledger itself is then the story."""


@click.command("report")
@ledger_option
@keys_option
@public_key_option
@selection_options
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="By the output's name where it is not given; else markdown.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file to write."
)
@git_options
@live_option
@click.option("--no-live", is_flag=True, help="Do not ask the cluster what is still live.")
@kubectl_options
@audit_log_option
@click.option(
    "--policy",
    "policy_file",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The policy, for who the emergency group is and what is guarded; with --audit-log.",
)
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
    *,
    address: str,
    keys: Path | None,
    public_keys: tuple[str, ...],
    form: str | None,
    output: Path | None,
    git: str | None,
    path: str,
    folder: Path | None,
    no_live: bool,
    audit_logs: tuple[Path, ...],
    policy_file: Path | None,
    verify: bool,
    **options: Any,  # noqa: ANN401 - which records, and kubectl's flags
) -> None:
    """Report what was changed by hand: who, when, why, is it still live, is it in Git.

    \b
      glasswarden report --ticket INC-42 -o report.html

    What is still live is asked of the cluster through kubectl, what Git declares of --git. What
    could not be looked at is said in the report.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    question = question_of(options)
    scope = scope_of(question)
    live = None if no_live else looking(folder, lambda: kubectl_of(options))
    policy = read_policy(policy_file) if policy_file else DEFAULT
    with opened(address) as ledger, audit_log_from(audit_logs, policy) as audit:
        made = now()
        attempts = attempts_for(ledger, question)
        declared, incomplete = declared_in(git, path) if git else (None, [])
        looked = Looked(live or _nobody_looked, declared, masks_at(keys, address))
        around = Surroundings(
            standing=looked,
            open_grants=_open_grants(ledger, attempts, made),
            integrity=_integrity(ledger, public_keys) if verify else _not_verified(),
        )
        if audit is not None:
            name = attempts[0].cluster if attempts else policy.cluster
            unrecorded = unrecorded_in(audit.watch.sightings, scope, attempts, name)
            around = replace(around, witnesses=audit.index.witnesses, unrecorded=unrecorded)
            incomplete += [f"{each.what}: {each.why}" for each in audit.incomplete]
        report = compose(scope, attempts, around, made)
    if live is not None:
        incomplete += [f"{ref} could not be read: {why}" for ref, why in live.unread.items()]
    report = msgspec.structs.replace(report, incomplete=tuple(incomplete))
    _write(_rendered(report, form or _by_name(output), _title(scope)), output)


def _print_schema(ctx: click.Context) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())
    ctx.exit()


def _open_grants(ledger: Ledger, attempts: Iterable[Attempt], now: datetime) -> frozenset[str]:
    return frozenset(
        record.entry.grant
        for cluster in {attempt.cluster for attempt in attempts}
        for record in ledger.open_grants(cluster, now)
        if isinstance(record.entry, Attempt)
    )


def _nobody_looked(_ref: Ref) -> Object | None:
    raise NotKnown


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


def _title(scope: Scope) -> str:
    named = [scope.ticket, scope.app, scope.namespace, scope.actor, scope.cluster]
    return f"Changes by hand: {', '.join(filter(None, named)) or 'all'}"


def _by_name(output: Path | None) -> str:
    suffix = output.suffix if output else ""
    return next((form for form, ending in FORMATS.items() if ending == suffix), "markdown")


def _rendered(report: Report, form: str, title: str) -> str:
    renderers = {
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
