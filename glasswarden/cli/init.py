"""`glasswarden init`: a policy to begin with."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from glasswarden.cli.connection import KUBECONFIG, connect
from glasswarden.cli.simulation import tally, tally_as_text
from glasswarden.cluster.objects import ClusterError
from glasswarden.policy.file import parse_document
from glasswarden.policy.policy import enforced, policy_of
from glasswarden.setup.proposal import propose
from glasswarden.setup.survey import survey


@click.command("init")
@KUBECONFIG
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the policy is written; by default it is printed. A file that is there stays.",
)
@click.option(
    "--audit-log",
    "logs",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also say what the policy would have denied in it, were it enforced. May be repeated.",
)
@click.option(
    "--days",
    type=click.IntRange(1),
    help="Of the audit logs, count only the last so many days.",
)
def command(
    kubeconfig: Path | None, output: Path | None, logs: tuple[Path, ...], days: int | None
) -> None:
    """Look at a cluster and propose a policy, with the reason of each line.

    Argo CD with its tracking and namespaces, Flux with its tenants, other engines, autoscalers,
    cert-manager, and controllers that left their field manager on managed objects. Only reads.
    """
    if days and not logs:
        raise click.UsageError("--days is about --audit-log")
    if output is not None and output.exists():
        raise click.ClickException(f"{output} is there already")
    try:
        text = propose(survey(connect(kubeconfig)))
    except ClusterError as error:
        raise click.ClickException(str(error)) from error
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text)
        click.echo(f"{output} is written; next: glasswarden policy check {output}")
    if logs:
        policy = enforced(policy_of(parse_document(text)))
        since = datetime.now(UTC) - timedelta(days=days) if days else None
        span = f"In the last {days} days: " if days else ""
        click.echo(f"{span}{tally_as_text(tally(logs, policy, since))}", err=output is None)
