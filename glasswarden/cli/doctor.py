"""`glasswarden doctor`: checks an installation, and prints what to do about each finding."""

from datetime import UTC, datetime
from pathlib import Path

import click

from glasswarden.cli.options import INSTALLED, Connection, connection_options, read_policy
from glasswarden.cluster.client import ApiServerError
from glasswarden.policy.policy import OUR_NAMESPACE
from glasswarden.setup.doctor import Finding, Health, examine
from glasswarden.setup.installation import Installation

COLOURS = {Health.OK: "green", Health.WARN: "yellow", Health.FAIL: "red"}


@click.command("doctor")
@connection_options(namespace=INSTALLED, default_namespace=OUR_NAMESPACE, all_namespaces=False)
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The policy that is meant; by default the one that the pods mount.",
)
@click.option(
    "--certs",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with the certificates of a webhook outside the cluster.",
)
@click.option(
    "--ledger",
    "address",
    default="",
    envvar="GLASSWARDEN_LEDGER",
    metavar="ADDRESS",
    help="Also check the ledger itself, if it can be reached from here.",
)
def command(
    connection: Connection,
    policy_file: Path | None,
    folder: Path | None,
    address: str,
) -> None:
    """Examine an installation; exit with 1 if a check fails.

    Certificate, caBundle, clocks, the registration against the policy, whether the API server
    really reaches the webhook (it is made to ask about a dry run, which changes nothing), and what
    the webhook's metrics show: the rules in force, what waits to be recorded, the keys of grants.
    """
    policy = read_policy(policy_file) if policy_file else None
    installation = Installation(connection.open_api_server(), connection.namespace, folder=folder)
    findings = []
    try:
        for finding in examine(installation, lambda: datetime.now(UTC), policy, address):
            findings.append(finding)
            _print_finding(finding)
    except ApiServerError as error:
        raise click.ClickException(str(error)) from error
    if any(finding.health is Health.FAIL for finding in findings):
        raise SystemExit(1)


def _print_finding(finding: Finding) -> None:
    health = click.style(f"{finding.health.value:<7}", fg=COLOURS[finding.health])
    click.echo(f"{health} {finding.subject:<13} {finding.message}")
    if finding.advice:
        click.echo(f"{'':<21} → {finding.advice}")
