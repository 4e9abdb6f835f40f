"""`glasswarden status`: how break-glass stands on one object."""

import click

from glasswarden.cli.breakglass.options import on_target
from glasswarden.cli.breakglass.shown import look_and_show
from glasswarden.cli.kubectl import Kubectl


@click.command("status")
@on_target
def command(target: str, kubectl: Kubectl) -> None:
    """Show whether the glass is broken on an object: by whom, until when, for which fields."""
    look_and_show(kubectl, target)
