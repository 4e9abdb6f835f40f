"""`glasswarden manifests`: what a cluster must be told about us."""

import json
from pathlib import Path

import click

from webhook.registration import validating_configuration


@click.group("manifests")
def command() -> None:
    """Print what is to be applied to the cluster."""


@command.command("webhooks")
@click.option(
    "--url",
    required=True,
    metavar="URL",
    help="Where the API server reaches the webhook, https://HOST:PORT.",
)
@click.option(
    "--ca-file",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="PEM file of the authority that signed the webhook's certificate.",
)
def webhooks(url: str, ca_file: Path) -> None:
    """Print the webhook configuration, as JSON, for `kubectl apply -f -`."""
    try:
        authority = ca_file.read_bytes()
    except OSError as error:
        raise click.ClickException(f"{ca_file}: {error.strerror}") from error
    click.echo(json.dumps(validating_configuration(url, authority), indent=2))
