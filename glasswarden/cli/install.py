"""`glasswarden install`, `uninstall` and `init`: begin to guard a cluster, and end it.

`install` registers the webhook that the manifests installed, `uninstall` removes what can stop a
write, and `init` proposes a policy. None of them deletes records, keys or the namespace.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from certs.files import StateUnreadable
from glasswarden.cli.options import INSTALLED, Connection, connection_options, read_policy
from glasswarden.cli.policy import tally, tally_as_text
from glasswarden.cluster.client import ApiServerError
from glasswarden.policy.load import parse_document
from glasswarden.policy.policy import OUR_NAMESPACE, enforce_everywhere, policy_of
from glasswarden.policy_file import PolicyUnreadable
from glasswarden.setup.installation import (
    Installation,
    NotInstalled,
    plans,
    register,
    remove_parts,
    still_asking,
    take_off,
)
from glasswarden.setup.proposal import propose
from glasswarden.setup.survey import survey
from webhook.registration.configurations import PolicyTooLarge


@click.command("install")
@connection_options(namespace=INSTALLED, default_namespace=OUR_NAMESPACE, all_namespaces=False)
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the rules; by default the policy that the pods mount.",
)
@click.option(
    "--apply/--dry-run", "really", default=False, help="Apply it, or only print what would change."
)
@click.option("--show", is_flag=True, help="Print the webhook configurations as well.")
def install(
    connection: Connection,
    policy_file: Path | None,
    *,
    really: bool,
    show: bool,
) -> None:
    """Register the webhook that the manifests installed; again after each change of the policy.

    Not before its certificate is there and a pod is ready: an API server whose
    webhook does not answer denies writes. Without --apply nothing changes, but the API server has
    checked what would be applied.
    """
    installation = Installation(connection.open_api_server(), connection.namespace)
    try:
        policy = read_policy(policy_file) if policy_file else installation.policy()
        planned = plans(installation, policy, datetime.now(UTC))
        if really:
            register(installation, policy)
    except (NotInstalled, StateUnreadable, PolicyUnreadable, PolicyTooLarge) as error:
        raise click.ClickException(f"not registered: {error}") from error
    except ApiServerError as error:
        raise click.ClickException(f"not registered: {error}") from error
    for each in planned:
        if show:
            click.echo(json.dumps(each.configuration, indent=2))
        click.echo(each.description + ("" if really else " (nothing was changed; --apply does it)"))
    if really:
        click.echo("Check it with: glasswarden doctor")


@click.command("uninstall")
@connection_options(namespace=INSTALLED, default_namespace=OUR_NAMESPACE, all_namespaces=False)
@click.option("--registration-only", is_flag=True, help="Leave the pods and everything else.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(connection: Connection, *, registration_only: bool, yes: bool) -> None:
    """Take the webhook off the write path, then remove what the manifests installed.

    What can stop a write is removed first, also under other names. The records, their
    keys and the namespace stay: they are evidence, and yours to delete.
    """
    server, namespace = connection.open_api_server(), connection.namespace
    if not yes:
        click.confirm(f"Guard {server.address} no longer?", abort=True)
    try:
        first = [*take_off(server)]
        parts = [] if registration_only else [*remove_parts(server, namespace)]
        # A certificate controller that restores may have been in the middle of it.
        again = [*take_off(server)]
        left = still_asking(server, namespace)
    except ApiServerError as error:
        raise click.ClickException(str(error)) from error
    for name in (*first, *(each.part for each in parts if not each.error), *again):
        click.echo(f"removed {name}")
    if left:
        names = "\n".join(f"  kubectl delete {name}" for name in left)
        raise click.ClickException(f"these still ask Glasswarden about writes:\n{names}")
    click.echo("Nothing of Glasswarden can stop a write now.")
    if failed := [f"  {each.part}: {each.error}" for each in parts if each.error]:
        raise click.ClickException("\n".join(("these may still exist:", *failed)))


@click.command("init")
@connection_options(namespace="")
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
    help="Also print what the policy would have denied in it, were it enforced. May be repeated.",
)
@click.option(
    "--days",
    type=click.IntRange(1),
    help="Of the audit logs, count only the last so many days.",
)
def init(
    connection: Connection, output: Path | None, logs: tuple[Path, ...], days: int | None
) -> None:
    """Survey a cluster and propose a policy, with the reason of each line.

    Argo CD with its tracking and namespaces, Flux with its tenants, other engines, autoscalers,
    cert-manager, and controllers that left their field manager on managed objects. Only reads.
    """
    if days and not logs:
        raise click.UsageError("--days is about --audit-log")
    if output is not None and output.exists():
        raise click.ClickException(f"{output} is there already")
    try:
        text = propose(survey(connection.open_api_server()))
    except ApiServerError as error:
        raise click.ClickException(str(error)) from error
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text)
        click.echo(f"{output} is written; next: glasswarden policy check {output}")
    if logs:
        policy = enforce_everywhere(policy_of(parse_document(text)))
        since = datetime.now(UTC) - timedelta(days=days) if days else None
        span = f"In the last {days} days: " if days else ""
        click.echo(f"{span}{tally_as_text(tally(logs, policy, since))}", err=output is None)
