"""`glasswarden extend`: more time for a grant."""

from datetime import UTC, datetime, timedelta

import click

from glasswarden.cli.breakglass.options import on_target
from glasswarden.cli.breakglass.shown import elsewhere, is_open_now, look, look_and_show
from glasswarden.cli.kubectl import Kubectl
from glasswarden.duration import DurationError, parse_span, render_duration
from glasswarden.policy.breakglass import names


@click.command("extend")
@on_target
@click.option("--ttl", required=True, metavar="TIME", help="How long from now on, such as 30m.")
def command(target: str, kubectl: Kubectl, ttl: str) -> None:
    """Give an open grant more time, as far as its rule allows."""
    view = look(kubectl, target)
    place = elsewhere(view)
    if place is not None:
        raise click.ClickException(f"the grant is on {place}: extend that")
    if view.stamp is None or not is_open_now(view):
        raise click.ClickException(f"nothing is open there; try: {kubectl.typed('break', target)}")
    me = kubectl.whoami()
    if me not in {None, view.stamp.actor}:
        raise click.ClickException(
            f"it is {view.stamp.actor}'s to extend; to have it in their place: "
            f"{kubectl.typed('break', target)} --take-over"
        )
    # On the object, a grant's time counts from its beginning.
    elapsed = datetime.now(UTC) - view.stamp.start
    kubectl.annotate(target, {names.TTL: render_duration(elapsed + _more(ttl))})
    look_and_show(kubectl, target)


def _more(ttl: str) -> timedelta:
    try:
        return parse_span(ttl)
    except DurationError as error:
        raise click.BadParameter(str(error)) from error
