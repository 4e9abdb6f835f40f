"""`glasswarden close`: end a grant, and say what became of what was changed under it."""

import click

from glasswarden.cli.breakglass.options import on_target
from glasswarden.cli.breakglass.shown import elsewhere, look, look_and_show
from glasswarden.cli.kubectl import Kubectl
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.outcome import WORDS


@click.command("close")
@on_target
@click.option(
    "--outcome", type=click.Choice(WORDS), help="What became of the fields that were changed."
)
@click.option(
    "--grant", metavar="ID", help="Which grant, where it is over and has left the object."
)
def command(target: str, kubectl: Kubectl, outcome: str | None, grant: str | None) -> None:
    """End a grant; the reconciler then puts back what Git says.

    With an outcome, a grant that is over already is settled: `glasswarden grants` shows its id.
    """
    before = look(kubectl, target)
    if grant is not None and outcome is None:
        raise click.UsageError("--grant says of which grant the --outcome is.")
    place = elsewhere(before)
    if grant is None and place is not None:
        raise click.ClickException(f"the grant is on {place}: close that")
    if grant is None and before.stamp is None and before.petition is None:
        raise click.ClickException(f"{before.subject}: no grant is in force")
    changed: dict[str, str | None] = {}
    if grant is None or (before.stamp is not None and before.stamp.id == grant):
        changed |= dict.fromkeys(names.ASKED)
    if outcome is not None:
        changed[names.OUTCOME] = f"{outcome}:{grant}" if grant else outcome
    kubectl.annotate(target, changed)
    look_and_show(kubectl, target)
