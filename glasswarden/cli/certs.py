"""`glasswarden certs`: the authority and the serving certificate."""

from datetime import UTC, datetime
from pathlib import Path

import click

from certs.folder import issue_into


@click.group("certs")
def command() -> None:
    """Make the certificates by which the API server trusts the webhook."""


@command.command("issue")
@click.option(
    "--dir",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where ca.crt, tls.crt and tls.key are written.",
)
@click.option(
    "--host",
    "hosts",
    required=True,
    multiple=True,
    help="A name or address of the webhook; may be repeated.",
)
def issue(folder: Path, hosts: tuple[str, ...]) -> None:
    """Issue a new authority and a serving certificate signed by it."""
    try:
        written = issue_into(folder, hosts, datetime.now(UTC))
    except (OSError, ValueError) as error:
        raise click.ClickException(f"no certificate was issued: {error}") from error
    for path in (written.authority, written.certificate, written.key, written.caller_token):
        click.echo(path)
