"""`glasswarden uninstall`: leave nothing that could stop a write."""

from pathlib import Path

import click

from glasswarden.cli.connection import KUBECONFIG, NAMESPACE, connect
from glasswarden.cluster.objects import ClusterError
from glasswarden.setup.registering import remove_parts, still_asking, take_off


@click.command("uninstall")
@KUBECONFIG
@NAMESPACE
@click.option("--registration-only", is_flag=True, help="Leave the pods and everything else.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(kubeconfig: Path | None, namespace: str, *, registration_only: bool, yes: bool) -> None:
    """Take the webhook off the write path, then remove what the manifests installed.

    What can stop a write goes first, and it is looked for under other names too. The records, their
    keys and the namespace stay: they are evidence, and yours to delete.
    """
    objects = connect(kubeconfig)
    if not yes:
        click.confirm(f"Guard {objects.server} no longer?", abort=True)
    try:
        first = [*take_off(objects)]
        parts = [] if registration_only else [*remove_parts(objects, namespace)]
        # A keeper that restores may have been in the middle of it.
        again = [*take_off(objects)]
        left = still_asking(objects, namespace)
    except ClusterError as error:
        raise click.ClickException(str(error)) from error
    for name in (*first, *(each.part for each in parts if not each.refused), *again):
        click.echo(f"removed {name}")
    if left:
        names = "\n".join(f"  kubectl delete {name}" for name in left)
        raise click.ClickException(f"these still ask Glasswarden about writes:\n{names}")
    click.echo("Nothing of Glasswarden can stop a write now.")
    if refused := [f"  {each.part}: {each.refused}" for each in parts if each.refused]:
        raise click.ClickException("\n".join(("these may still be there:", *refused)))
