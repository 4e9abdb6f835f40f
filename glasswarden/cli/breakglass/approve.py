"""`glasswarden approve`: let somebody else break the glass."""

import click

from glasswarden.cli.breakglass.options import on_target
from glasswarden.cli.breakglass.shown import look, look_and_show
from glasswarden.cli.kubectl import Kubectl
from glasswarden.policy.breakglass import names


@click.command("approve")
@on_target
@click.option("--request", "wanted", metavar="ID", help="Only this request; no later one.")
def command(target: str, kubectl: Kubectl, wanted: str | None) -> None:
    """Approve the request that waits on an object, as a second person."""
    view = look(kubectl, target)
    if view.petition is None:
        raise click.ClickException(f"{view.subject}: no request waits for approval")
    if wanted not in {None, view.petition.id}:
        raise click.ClickException(f"{view.subject}: it is {view.petition.id} that waits now")
    kubectl.annotate(target, {names.APPROVE: view.petition.id})
    look_and_show(kubectl, target)
