"""`glasswarden manifests`: prints what is to be applied to a cluster."""

import json
from pathlib import Path

import click

from certs.files import Folder
from glasswarden.cli.options import read_policy
from glasswarden.policy.policy import DEFAULT, OUR_NAMESPACE
from glasswarden.policy_file import PolicyUnreadable, load_policy
from webhook.registration.configurations import Endpoint, PolicyTooLarge, Service, configurations
from webhook.registration.fallback_policy import new_fallback_policy


@click.group("manifests")
def command() -> None:
    """Print what is to be applied to the cluster."""


@command.command("webhooks")
@click.option(
    "--url",
    metavar="URL",
    help="Where the API server reaches a webhook outside the cluster, https://HOST:PORT.",
)
@click.option(
    "--service",
    metavar="NAMESPACE/NAME",
    help="The Service by which it reaches one inside.",
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
def webhooks(
    url: str | None, service: str | None, folder: Folder, policy_file: Path | None
) -> None:
    """Print the webhook configurations, as JSON, for `kubectl apply -f -`.

    They follow from the policy: print and apply them again when engines, controllers, markers,
    reserved namespaces or the emergency group change. They hold the path that only the API server
    may know: whoever can read webhook configurations can call the webhook.
    """
    address = _address(url, service)
    try:
        token = folder.read_caller_token()
        endpoint = Endpoint(address, folder.authority.read_bytes(), token)
        policy = load_policy(policy_file) if policy_file else DEFAULT
        both = configurations(policy, endpoint)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    except (PolicyUnreadable, PolicyTooLarge) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": both}, indent=2))


@command.command("fallback-policy")
@click.option(
    "--policy",
    "policy_file",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the rules that the webhook goes by; the built-in ones without it.",
)
@click.option(
    "--namespace",
    default=OUR_NAMESPACE,
    show_default=True,
    metavar="NAME",
    help="The namespace of the webhook: nothing in it is denied.",
)
def fallback_policy_command(policy_file: Path | None, namespace: str) -> None:
    """Print the fallback policy, for direct writes while the webhook is unavailable.

    It is a ValidatingAdmissionPolicy. It denies only what the webhook certainly denies, so it can
    be installed next to the webhook. It allows writes that ask for break-glass.
    """
    policy = read_policy(policy_file) if policy_file else DEFAULT
    try:
        items = new_fallback_policy(policy, namespace)
    except PolicyTooLarge as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2))


def _address(url: str | None, service: str | None) -> str | Service:
    if (url is None) == (service is None):
        raise click.UsageError("give the address of the webhook: --url or --service")
    if url is not None:
        return url
    namespace, _, name = (service or "").partition("/")
    if not (namespace and name):
        raise click.UsageError("--service is NAMESPACE/NAME")
    return Service(namespace, name)
