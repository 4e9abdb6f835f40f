"""`glasswarden break`: break the glass on one object, and do what it was broken for."""

import click

from glasswarden.cli.breakglass.options import on_target
from glasswarden.cli.breakglass.shown import is_open_now, look, look_and_show, show
from glasswarden.cli.breakglass.view import View
from glasswarden.cli.kubectl import Kubectl
from glasswarden.policy.breakglass import names


@click.command("break")
@on_target
@click.option("--ticket", required=True, metavar="ID", help="The incident's ticket.")
@click.option("--reason", required=True, metavar="TEXT", help="Why, for whoever reviews it.")
@click.option("--ttl", metavar="TIME", help="How long, such as 30m; the rule's default without it.")
@click.option("--take-over", is_flag=True, help="Make somebody else's grant yours.")
@click.argument("then", nargs=-1, type=click.UNPROCESSED, metavar="[-- KUBECTL ARGS…]")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    target: str,
    kubectl: Kubectl,
    ticket: str,
    reason: str,
    ttl: str | None,
    take_over: bool,
    then: tuple[str, ...],
) -> None:
    """Break the glass on an object that GitOps owns.

    \b
      kubectl glasswarden break deploy/web -n shop --ticket INC-42
        --reason "checkout is down" --ttl 30m -- scale deploy/web --replicas=8

    What follows `--` is run by kubectl once the grant is there. On namespace/NAME the grant is for
    every guarded object in that namespace.
    """  # noqa: D301 - the first backslash keeps click from joining the lines
    before = look(kubectl, target)
    if is_open_now(before) and not take_over:
        show(before)
        raise click.ClickException(_open_already(before, kubectl, target))
    asked: dict[str, str | None] = {names.REASON: reason, names.TICKET: ticket, names.TTL: ttl}
    if before.stamp is not None and not is_open_now(before):
        # It is over. Taking it off asks anew, also with the same words as before.
        asked[names.GRANT] = None
    kubectl.annotate(target, asked)
    after = look_and_show(kubectl, target)
    if is_open_now(after):
        ctx.exit(kubectl.hand_over(then) if then else 0)
    if after.petition is not None:
        click.echo(f"An approver types: {kubectl.typed('approve', target)}")
        ctx.exit(1 if then else 0)
    raise click.ClickException("the request is stored but nobody answered it: is the guard up?")


def _open_already(view: View, kubectl: Kubectl, target: str) -> str:
    """Return what somebody can do who asks for what is open, which depends on whose it is."""
    me, actor = kubectl.whoami(), view.stamp.actor if view.stamp is not None else ""
    if me is not None and me != actor:
        return f"it is open already, for {actor}; to have it in their place, add --take-over"
    return f"it is open already; for more time: {kubectl.typed('extend', target)} --ttl TIME"
