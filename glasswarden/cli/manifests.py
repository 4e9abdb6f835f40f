"""`glasswarden manifests`: what a cluster must be told about us."""

import json
from pathlib import Path

import click

from glasswarden.policy.policy import DEFAULT
from webhook.registration import PolicyTooLarge, validating_configuration
from webhook.rules import PolicyUnreadable, load_policy


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
@click.option(
    "--policy",
    "policy_file",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the rules that the webhook will go by; the built-in ones without it.",
)
def webhooks(url: str, ca_file: Path, policy_file: Path | None) -> None:
    """Print the webhook configuration, as JSON, for `kubectl apply -f -`.

    It follows from the policy: print and apply it again when engines, controllers, markers,
    reserved namespaces or the emergency group change.
    """
    try:
        authority = ca_file.read_bytes()
        policy = load_policy(policy_file) if policy_file else DEFAULT
        configuration = validating_configuration(policy, url, authority)
    except OSError as error:
        raise click.ClickException(f"{ca_file}: {error.strerror}") from error
    except (PolicyUnreadable, PolicyTooLarge) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(configuration, indent=2))
