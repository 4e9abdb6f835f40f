"""`glasswarden close`: end a grant, and say what became of what was changed under it."""

import click

from glasswarden.cli.breakglass.options import on_target
from glasswarden.cli.breakglass.shown import look, look_and_show
from glasswarden.cli.kubectl import Kubectl
from glasswarden.policy.breakglass import names


@click.command("close")
@on_target
@click.option(
    "--outcome",
    type=click.Choice(["reverted", "backported", "delegated"]),
    help="What became of the fields that were changed.",
)
def command(target: str, kubectl: Kubectl, outcome: str | None) -> None:
    """End a grant; the reconciler then puts back what Git says."""
    before = look(kubectl, target)
    if before.stamp is None and before.petition is None:
        raise click.ClickException(f"{before.subject}: no grant is in force")
    ended: dict[str, str | None] = dict.fromkeys(names.ASKED)
    kubectl.annotate(target, ended | ({names.OUTCOME: outcome} if outcome else {}))
    look_and_show(kubectl, target)
