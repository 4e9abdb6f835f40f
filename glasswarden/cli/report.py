"""`glasswarden report`: what was changed by hand, for whoever reviews the incident."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from correlator.report.compose import compose
from correlator.report.markdown import render_markdown
from correlator.report.model import Report, as_json, schema
from correlator.report.page import render_page
from correlator.report.summary import title_of
from correlator.report.table import render_csv
from glasswarden.cli.audit import audit_log_from, audit_log_option
from glasswarden.cli.git import git_options
from glasswarden.cli.inputs import read_policy
from glasswarden.cli.kubectl_options import kubectl_options
from glasswarden.cli.ledger.clusters import cluster_of
from glasswarden.cli.ledger.options import (
    keys_option,
    ledger_option,
    opened,
    public_key_option,
)
from glasswarden.cli.live import live_option
from glasswarden.cli.report_looked import Looking, integrity_of, trusted_by
from glasswarden.cli.selection import question_of, selection_options
from glasswarden.cli.times import now
from glasswarden.policy.policy import DEFAULT

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

    What is still live is asked of the cluster through kubectl, what Git declares of --git. With
    both, what differs and no record explains is told too; with --audit-log, what got past the
    webhook. About a ticket, what was refused or got past on its objects in its time is part of it.
    What could not be looked at is said in the report.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    question = question_of(options)
    policy = read_policy(policy_file) if policy_file else DEFAULT
    with opened(address) as ledger, audit_log_from(audit_logs, policy) as audit:
        named = question.cluster or (policy.cluster if policy_file else None)
        # What one cluster has live says nothing about a write in another.
        is_one = audit is not None or not no_live
        question = replace(question, cluster=cluster_of(ledger, named) if is_one else named)
        looking = Looking(
            ledger,
            address,
            keys,
            question,
            policy,
            audit,
            git or "",
            path,
            folder,
            options,
            no_live,
        )
        made = now()
        attempts, circle = looking.attempts()
        around = looking.around(attempts, circle, made)
        if verify:
            trusted = trusted_by(public_keys, keys, address)
            around = replace(around, integrity=integrity_of(ledger, trusted))
        report = compose(circle.scope, attempts, around, made)
        report = msgspec.structs.replace(report, incomplete=tuple(looking.unread(around)))
    _write(_rendered(report, form or _by_name(output), title_of(circle.scope)), output)


def _print_schema(ctx: click.Context) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())
    ctx.exit()


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
