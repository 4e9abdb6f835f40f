"""`glasswarden extend`: more time for a grant."""

import click

from glasswarden.cli.breakglass.options import on_target
from glasswarden.cli.breakglass.shown import is_open_now, look, look_and_show
from glasswarden.cli.kubectl import Kubectl
from glasswarden.kube.objects import annotations_of
from glasswarden.policy.breakglass import names


@click.command("extend")
@on_target
@click.option("--ttl", required=True, metavar="TIME", help="How long from now on, such as 30m.")
def command(target: str, kubectl: Kubectl, ttl: str) -> None:
    """Give an open grant more time, as far as its rule allows."""
    if not is_open_now(look(kubectl, target)):
        raise click.ClickException(f"nothing is open there; try: {kubectl.typed('break', target)}")
    current = annotations_of(kubectl.get(target)).get(names.TTL)
    # The very same text would change nothing; a space behind it does, and means the same.
    kubectl.annotate(target, {names.TTL: f"{ttl} " if current == ttl else ttl})
    look_and_show(kubectl, target)
