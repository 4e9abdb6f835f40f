"""`glasswarden report`: what was changed by hand, for whoever reviews the incident."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from correlator.declared.errors import DeclaredUnreadable
from correlator.inspection.evidence import EvidenceOptions
from correlator.report.assemble import assemble_report, scope_of
from correlator.report.csv import render_csv
from correlator.report.html import render_page
from correlator.report.markdown import render_markdown
from correlator.report.model import Integrity, Report, render_json, report_schema
from correlator.report.text import title_of
from correlator.still_live import Answer
from glasswarden.cli.evidence import (
    audit_log_option,
    count_text,
    evidence_from,
    git_folder,
    git_options,
    keys_option,
    ledger_option,
    live_option,
    own_key,
    policy_in,
    policy_option,
    public_key_option,
    question_of,
    selection_options,
)
from glasswarden.cli.options import Connection, connection_options, now
from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger

MOST_FINDINGS: Final = 20
"""More findings of fsck than these are counted, not listed: the ledger itself is then the story."""


def trusted_by(public_keys: tuple[str, ...], keys: Path | None, address: str) -> frozenset[str]:
    """Return whose signatures count: as given, or by the key at hand, as for `ledger fsck`."""
    try:
        return frozenset(public_keys) or own_key(keys, address)
    except KeyUnusable:
        return frozenset()  # a folder that has only the keys of masks


def integrity_of(ledger: Ledger, trusted: frozenset[str]) -> Integrity:
    """Return what verifying the whole *ledger* gives, by the keys *trusted*, if any."""
    run = Fsck(ledger, Trust(trusted or None))
    findings = [str(finding) for finding in run.find_faults()]
    tally = run.tally
    read = f"{count_text(tally.records, 'record')} in {count_text(tally.chains, 'chain')}"
    if not findings:
        whose = "" if trusted else " by the keys found in it: none was given to trust"
        return Integrity(verdict=Answer.YES, statement=f"The ledger verifies, {read}{whose}.")
    more = [f"… and {len(findings) - MOST_FINDINGS} more"] if len(findings) > MOST_FINDINGS else []
    return Integrity(
        verdict=Answer.NO,
        statement=f"The ledger does NOT verify: {count_text(len(findings), 'finding')}, {read}.",
        findings=(*findings[:MOST_FINDINGS], *more),
    )


def _not_verified() -> Integrity:
    return Integrity(
        verdict=Answer.UNKNOWN,
        statement="The ledger was not verified for this report; --verify does.",
    )


FORMATS: Final = {"markdown": ".md", "html": ".html", "json": ".json", "csv": ".csv"}


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
@connection_options(asks_ledger=True, namespace="What was done in it.")
@audit_log_option
@policy_option("The policy, for who the emergency group is and what is guarded; with --audit-log.")
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
    git: str,
    path: str,
    values: tuple[Path, ...],
    folder: Path | None,
    no_live: bool,
    connection: Connection,
    audit_logs: tuple[Path, ...],
    policy_file: Path | None,
    verify: bool,
    **options: Any,  # noqa: ANN401 - which records
) -> None:
    """Report what was changed by hand: who, when, why, is it still live, is it in Git.

    \b
      glasswarden report --ticket INC-42 -o report.html

    What is still live is asked of the cluster, what Git declares of --git. With
    both, what differs and no record explains is reported too; with --audit-log, what got past the
    webhook. About a ticket, what was denied or got past on its objects in its time is part of it.
    The report names what could not be inspected.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    question = question_of(options, connection.namespace)
    policy = policy_in(policy_file)
    named = EvidenceOptions(
        policy=policy,
        ledger=address,
        keys=keys,
        cluster=question.cluster or (policy.cluster if policy_file else ""),
        # The live state of one cluster proves nothing about a write in another.
        is_any_cluster=no_live and not audit_logs,
        audit_logs=audit_logs,
        git=git_folder(git, path, values, question.app, connection.namespace),
        live_folder=None if no_live else folder,
        connect=None if no_live else lambda: connection.api_server("glasswarden-report"),
    )
    with evidence_from(named) as evidence:
        question = replace(question, cluster=evidence.cluster or None)
        integrity = _not_verified()
        if verify and evidence.ledger is not None:
            integrity = integrity_of(evidence.ledger, trusted_by(public_keys, keys, address))
        try:
            report = assemble_report(evidence, question, integrity, now())
        except DeclaredUnreadable as error:
            raise click.ClickException(str(error)) from error
    _write(_render(report, form or _by_name(output), title_of(scope_of(question))), output)


def _print_schema(ctx: click.Context) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(report_schema()), indent=2).decode())
    ctx.exit()


def _by_name(output: Path | None) -> str:
    suffix = output.suffix if output else ""
    return next((form for form, ending in FORMATS.items() if ending == suffix), "markdown")


def _render(report: Report, form: str, title: str) -> str:
    renderers = {
        "markdown": lambda: render_markdown(report, title),
        "html": lambda: render_page(report, title),
        "json": lambda: render_json(report).decode(),
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
