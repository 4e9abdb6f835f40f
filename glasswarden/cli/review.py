"""`glasswarden review`: a regular review of what keeps drifting."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import click

from correlator.digest.assemble import assemble_review
from correlator.digest.compose import Period
from correlator.digest.formats import render_markdown, render_page, render_text
from correlator.digest.model import Review, render_json
from correlator.inspection.evidence import EvidenceOptions
from correlator.inspection.scope import InspectionScope
from glasswarden.cli.evidence import (
    audit_log_option,
    evidence_from,
    git_folder,
    git_options,
    keys_option,
    ledger_option,
    live_option,
    policy_in,
    policy_option,
)
from glasswarden.cli.options import MOMENT, Connection, connection_options, now
from glasswarden.terminal import escape_unprintable

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
FORMATS: Final[Mapping[str, tuple[str, Callable[[Review], str]]]] = {
    "table": (".txt", render_text),
    "markdown": (".md", render_markdown),
    "html": (".html", render_page),
    "json": (".json", lambda review: render_json(review).decode()),
}
"""Each format: how a file with it is called, and what makes it."""


@click.command("review")
@ledger_option
@keys_option
@click.option(
    "--since",
    type=MOMENT,
    default="7d",
    show_default=True,
    help="Where the period begins; it is compared with the one just as long before.",
)
@click.option("--app", default="", metavar="NAME", help="Only this application.")
@click.option("--cluster", metavar="NAME", help="The cluster, where the ledger has several.")
@git_options
@live_option
@click.option("--no-live", is_flag=True, help="Go by the ledger alone; ask no cluster.")
@connection_options(asks_ledger=True)
@audit_log_option
@policy_option("The policy.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="By the output's name where it is not given; else table.",
)
@click.option("-o", "--output", type=_FILE, help="A file to write.")
def command(
    *,
    address: str,
    keys: Path | None,
    since: datetime,
    app: str,
    cluster: str | None,
    git: str,
    path: str,
    values: tuple[Path, ...],
    folder: Path | None,
    no_live: bool,
    connection: Connection,
    audit_logs: tuple[Path, ...],
    policy_file: Path | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Review what drifts: what recurs, which follow-ups are open, what nothing explains.

    \b
      glasswarden review --since 7d --git . --path deploy/prod -o review.md

    From the ledger's records, the grants, the history that `glasswarden correlator` keeps, and
    the live state; with --audit-log, what no record explains is attributed to whom the log
    proves. What is unknown is listed at the end.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    if since >= (time := now()):
        raise click.BadParameter("it lies in the future", param_hint="--since")
    policy, namespace = policy_in(policy_file), connection.namespace
    named = EvidenceOptions(
        policy=policy,
        ledger=address,
        keys=keys,
        cluster=cluster or (policy.cluster if policy_file else ""),
        audit_logs=audit_logs,
        git=git_folder(git, path, values, app, namespace),
        live_folder=None if no_live else folder,
        connect=None if no_live else lambda: connection.api_server("glasswarden-review"),
    )
    with evidence_from(named) as evidence:
        scope, period = InspectionScope(app, namespace), Period(since, time)
        review = assemble_review(evidence, scope, period, address, policy_file)
    _write(review, form or _by_name(output), output)


def _by_name(output: Path | None) -> str:
    suffix = output.suffix if output else ""
    return next((form for form, (ending, _) in FORMATS.items() if ending == suffix), "table")


def _write(review: Review, form: str, output: Path | None) -> None:
    text = FORMATS[form][1](review)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from error
    click.echo(f"Wrote {escape_unprintable(str(output))}", err=True)
