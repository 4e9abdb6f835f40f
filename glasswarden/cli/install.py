"""`glasswarden install`: have the API server ask the webhook."""

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from certs.files import StateUnreadable
from glasswarden.cli.connection import KUBECONFIG, NAMESPACE, connect
from glasswarden.cli.inputs import read_policy
from glasswarden.cluster.objects import ClusterError
from glasswarden.setup.installation import Installation, NotInstalled
from glasswarden.setup.registering import plans, register
from webhook.policy_file import PolicyUnreadable
from webhook.registration import PolicyTooLarge


@click.command("install")
@KUBECONFIG
@NAMESPACE
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the rules; by default the policy that the pods mount.",
)
@click.option("--apply/--dry-run", "really", default=False, help="Do it, or only say what.")
@click.option("--show", is_flag=True, help="Print the webhook configurations as well.")
def command(
    kubeconfig: Path | None,
    namespace: str,
    policy_file: Path | None,
    *,
    really: bool,
    show: bool,
) -> None:
    """Register the webhook that the manifests installed; again after each change of the policy.

    Not before its certificate is there and a pod is ready: an API server that asks somebody who
    does not answer refuses writes. Without --apply nothing changes, but the API server has checked
    what would be applied.
    """
    installation = Installation(connect(kubeconfig), namespace)
    try:
        policy = read_policy(policy_file) if policy_file else installation.policy()
        planned = plans(installation, policy, datetime.now(UTC))
        if really:
            register(installation, policy)
    except (NotInstalled, StateUnreadable, PolicyUnreadable, PolicyTooLarge) as error:
        raise click.ClickException(f"not registered: {error}") from error
    except ClusterError as error:
        raise click.ClickException(f"not registered: {error}") from error
    for each in planned:
        if show:
            click.echo(json.dumps(each.configuration, indent=2))
        click.echo(each.says + ("" if really else " (nothing was changed; --apply does it)"))
    if really:
        click.echo("Look at it with: glasswarden doctor")
