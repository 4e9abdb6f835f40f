"""`glasswarden manifests`: what a cluster must be told about us."""

import json
from pathlib import Path

import click

from certs.folder import Folder
from glasswarden.policy.policy import DEFAULT
from webhook.policy_file import PolicyUnreadable, load_policy
from webhook.registration import (
    Endpoint,
    PolicyTooLarge,
    configurations,
)


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
    "--certs",
    "folder",
    required=True,
    envvar="GLASSWARDEN_CERTS",
    type=click.Path(file_okay=False, path_type=Path),
    callback=lambda _context, _parameter, path: Folder(path),
    help="The folder that `glasswarden certs issue` wrote.",
)
@click.option(
    "--policy",
    "policy_file",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the rules that the webhook will go by; the built-in ones without it.",
)
def webhooks(url: str, folder: Folder, policy_file: Path | None) -> None:
    """Print the webhook configurations, as JSON, for `kubectl apply -f -`.

    They follow from the policy: print and apply them again when engines, controllers, markers,
    reserved namespaces or the emergency group change. They hold the path that only the API server
    may know: whoever can read webhook configurations can call the webhook.
    """
    try:
        token = folder.caller_token.read_text().strip()
        endpoint = Endpoint(url, folder.authority.read_bytes(), token)
        policy = load_policy(policy_file) if policy_file else DEFAULT
        both = configurations(policy, endpoint)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    except (PolicyUnreadable, PolicyTooLarge) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(both, indent=2))
