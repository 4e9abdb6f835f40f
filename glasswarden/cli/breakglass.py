"""The commands of break-glass: `break`, `approve`, `extend`, `close` and `status`.

They read and write one object through the person's own kubectl, so that the API server knows who
asks, and describe the state of break-glass on it. Nothing is verified here: the webhook does that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from glasswarden.cli.evidence import Snapshot, live_option
from glasswarden.cli.options import (
    Connection,
    Kubectl,
    KubectlFailed,
    connection_options,
)
from glasswarden.duration import DurationError, parse_positive_duration, render_duration
from glasswarden.kube.objects import Object, Ref, annotations_of, metadata_of, ref_of
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import WORDS, decode_unverified
from glasswarden.policy.breakglass.tokens import GrantRequest, Stamp

_TARGET: Final = click.argument("target", metavar="TYPE/NAME")
_NAMESPACE: Final = "The object's namespace."


def on_target(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command name one object, as `target`, and pass kubectl's flags on, as `kubectl`."""

    @_TARGET
    @connection_options(namespace=_NAMESPACE, all_namespaces=False)
    @wraps(function)
    def command(target: str, connection: Connection, **options: Any) -> None:  # noqa: ANN401
        function(target=_one(target), kubectl=connection.kubectl(), **options)

    return command


def on_object(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command name one object, in the cluster or in a folder, and hand it over as `obj`."""

    @_TARGET
    @connection_options(namespace=_NAMESPACE, all_namespaces=False, asks_ledger=True)
    @live_option
    @wraps(function)
    def command(
        target: str,
        folder: Path | None,
        connection: Connection,
        **options: Any,  # noqa: ANN401
    ) -> None:
        if folder is not None:
            found = Snapshot(folder).get(_one(target), connection.namespace or "default")
        else:
            found = connection.kubectl().get(_one(target))
        function(obj=found, **options)

    return command


def on_history(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command name one object that may be gone; handed over as `live` where it is there."""

    @_TARGET
    @connection_options(namespace=_NAMESPACE, all_namespaces=False, asks_ledger=True)
    @live_option
    @wraps(function)
    def command(
        target: str,
        folder: Path | None,
        connection: Connection,
        **options: Any,  # noqa: ANN401
    ) -> None:
        named, namespace = _one(target), connection.namespace
        if folder is not None:
            found = Snapshot(folder).find(named, namespace or "default")
        else:
            found = connection.kubectl().get_or_none(named)
        function(target=named, namespace=namespace or None, live=found, **options)

    return command


def _one(target: str) -> str:
    kind, _, name = target.partition("/")
    if not kind or not name or target.startswith("-"):
        raise click.BadParameter(f"{target!r} names no object; write TYPE/NAME, such as deploy/web")
    return target


SECONDS: Final = 60
"""Of a minute; what is shorter than that is shown in seconds."""


@dataclass(frozen=True, slots=True)
class View:
    """The state of break-glass on an object, by its annotations."""

    subject: str
    stamp: Stamp | None
    request: GrantRequest | None
    """A request that waits for a second person."""

    reason: str
    around: "View | None" = None
    """The same of the Namespace that the object is in; nothing where it could not be read."""


def view_of(obj: Object, namespace: Object | None = None) -> View:
    """Return how break-glass stands on *obj*, and on the Namespace that it is in."""
    annotations = annotations_of(obj)
    stamp = decode_unverified(annotations.get(names.GRANT), Stamp)
    request = decode_unverified(annotations.get(names.REQUEST), GrantRequest)
    around = view_of(namespace) if namespace is not None else None
    reason = str(annotations.get(names.REASON, ""))
    return View(str(ref_of(obj)), stamp, request, reason, around)


def is_open(view: View, now: datetime) -> bool:
    """Return whether a grant on the object itself is in force; its Namespace does not count."""
    stamp = view.stamp
    if stamp is None or stamp.namespace or not view.reason:
        return False
    return now < stamp.expires


def in_force(view: View, now: datetime) -> View | None:
    """Return where the grant stands that holds for the object: on itself, or on its Namespace."""
    if is_open(view, now):
        return view
    return view.around if view.around is not None and is_open(view.around, now) else None


def is_followed(view: View, now: datetime) -> bool:
    """Return whether the object's stamp is from a grant on its Namespace that is still in force."""
    stamp, around = view.stamp, view.around
    if stamp is None or not stamp.namespace:
        return False
    if around is None:
        return now < stamp.expires
    return is_open(around, now) and around.stamp is not None and around.stamp.id == stamp.id


def sentences(view: View, now: datetime) -> list[str]:
    """Return what a person wants to know about it."""
    where = in_force(view, now)
    held = view.stamp.held if view.stamp is not None else ()
    if where is not None and where.stamp is not None:
        known = held if where is view or is_followed(view, now) else ()
        by = "" if where is view else f", by the grant on {where.subject}"
        return [*_open(view.subject, where.stamp, where.reason, by, now), *map(_held_line, known)]
    if view.stamp is None:
        return _without_grant(view, now)
    if is_followed(view, now):
        text = "changed under a grant on its Namespace, which could not be read"
        return [f"{view.subject}: {text}.", *map(_held_line, held)]
    return [f"{view.subject}: {_ending(view.stamp, now)}.", *_whose(view.stamp, view.reason)]


def _open(subject: str, stamp: Stamp, reason: str, by: str, now: datetime) -> list[str]:
    rest = render_time_left(stamp.expires - now)
    return [
        f"{subject}: open until {_moment(stamp.expires)}, {rest} left{by}.",
        *_whose(stamp, reason),
        f"  may {', '.join(stamp.operations)}",
        *([f"  shared with {', '.join(stamp.groups)}"] if stamp.groups else []),
    ]


def _ending(stamp: Stamp, now: datetime) -> str:
    if stamp.namespace:
        return f"the grant {stamp.id} on its Namespace is over"
    if now >= stamp.expires:
        return f"the grant {stamp.id} expired at {_moment(stamp.expires)}"
    return f"the grant {stamp.id} was closed"


def _whose(stamp: Stamp, reason: str) -> list[str]:
    why = f": {reason}" if reason else ""
    return [f"  {stamp.actor}, {stamp.ticket}{why}"]


def _held_line(path: str) -> str:
    return f"  held: {path}"


def _without_grant(view: View, now: datetime) -> list[str]:
    request = view.request
    if request is None or now >= request.deadline:
        return [f"{view.subject}: no grant is in force."]
    length = render_time_left(timedelta(seconds=request.ttl))
    asked = f"{request.actor} asks for {length}, {request.ticket}"
    until = _moment(request.deadline)
    return [
        f"{view.subject}: request {request.id} waits for approval until {until}.",
        f"  {asked}: {view.reason}",
    ]


def render_time_left(span: timedelta) -> str:
    """Return *span* in words: `1 h 30 min`, `45 s`."""
    seconds = max(0, round(span.total_seconds()))
    if seconds < SECONDS:
        return f"{seconds} s"
    hours, minutes = divmod(round(seconds / SECONDS), 60)
    parts = [f"{hours} h"] if hours else []
    return " ".join([*parts, f"{minutes} min"] if minutes else parts)


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}"


def read_view(kubectl: Kubectl, target: str) -> View:
    """Return how break-glass stands on *target*, and on the Namespace that it is in."""
    found = kubectl.get(target)
    return view_of(found, namespace_of(kubectl, found))


def namespace_of(kubectl: Kubectl, obj: Object) -> Object | None:
    """Return the Namespace that *obj* is in; nothing where there is none, or it may not be read."""
    name = metadata_of(obj).get("namespace")
    if not name:
        return None
    try:
        return kubectl.find(Ref("", "v1", "Namespace", "", name))
    except KubectlFailed:
        return None


def elsewhere(view: View) -> str | None:
    """Return the Namespace that the grant stands on which holds for the object, if one does."""
    where = in_force(view, datetime.now(UTC))
    return where.subject if where is not None and where is not view else None


def show(view: View) -> None:
    """Print the state of break-glass."""
    click.echo("\n".join(sentences(view, datetime.now(UTC))))


def read_and_show(kubectl: Kubectl, target: str) -> View:
    """Read the state of break-glass on *target*, and print it."""
    view = read_view(kubectl, target)
    show(view)
    return view


def is_open_now(view: View) -> bool:
    """Return whether a grant on the object itself is in force now."""
    return is_open(view, datetime.now(UTC))


@click.command("approve")
@on_target
@click.option("--request", "wanted", metavar="ID", help="Only this request; no later one.")
def approve(target: str, kubectl: Kubectl, wanted: str | None) -> None:
    """Approve the request that waits on an object, as a second person."""
    view = read_view(kubectl, target)
    if view.request is None:
        raise click.ClickException(f"{view.subject}: no request waits for approval")
    if wanted not in {None, view.request.id}:
        raise click.ClickException(f"{view.subject}: request {view.request.id} waits now")
    kubectl.annotate(target, {names.APPROVE: view.request.id})
    read_and_show(kubectl, target)


@click.command("break")
@on_target
@click.option("--ticket", required=True, metavar="ID", help="The incident's ticket.")
@click.option("--reason", required=True, metavar="TEXT", help="Why, for whoever reviews it.")
@click.option("--ttl", metavar="TIME", help="How long, such as 30m; the rule's default without it.")
@click.option("--take-over", is_flag=True, help="Make somebody else's grant yours.")
@click.argument("then", nargs=-1, type=click.UNPROCESSED, metavar="[-- KUBECTL ARGS…]")
@click.pass_context
def break_glass(
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
    """Ask for break-glass on an object that GitOps owns.

    \b
      kubectl glasswarden break deploy/web -n shop --ticket INC-42
        --reason "checkout is down" --ttl 30m -- scale deploy/web --replicas=8

    What follows `--` is run by kubectl once the grant is there. On namespace/NAME the grant is for
    every guarded object in that namespace.
    """  # noqa: D301 - the first backslash keeps click from joining the lines
    before = read_view(kubectl, target)
    if is_open_now(before) and not take_over:
        show(before)
        raise click.ClickException(_open_already(before, kubectl, target))
    asked: dict[str, str | None] = {names.REASON: reason, names.TICKET: ticket, names.TTL: ttl}
    if before.stamp is not None and not is_open_now(before):
        # It is over. Taking it off asks anew, also with the same words as before.
        asked[names.GRANT] = None
    kubectl.annotate(target, asked)
    after = read_and_show(kubectl, target)
    if is_open_now(after):
        ctx.exit(kubectl.hand_over(then) if then else 0)
    if after.request is not None:
        click.echo(f"An approver types: {kubectl.command_line('approve', target)}")
        ctx.exit(1 if then else 0)
    raise click.ClickException(
        "the request is stored, but no webhook answered it: is the webhook registered?"
    )


def _open_already(view: View, kubectl: Kubectl, target: str) -> str:
    """Return what somebody can do who asks for what is open, which depends on whose it is."""
    me, actor = kubectl.whoami(), view.stamp.actor if view.stamp is not None else ""
    if me is not None and me != actor:
        return f"it is open already, for {actor}; to have it in their place, add --take-over"
    return f"it is open already; for more time: {kubectl.command_line('extend', target)} --ttl TIME"


@click.command("close")
@on_target
@click.option(
    "--outcome", type=click.Choice(WORDS), help="What became of the fields that were changed."
)
@click.option(
    "--grant", metavar="ID", help="Which grant, where it is over and has left the object."
)
def close(target: str, kubectl: Kubectl, outcome: str | None, grant: str | None) -> None:
    """End a grant; the reconciler then restores what Git declares.

    With an outcome, a grant that is over already is settled: `glasswarden grants` shows its id.
    """
    before = read_view(kubectl, target)
    if grant is not None and outcome is None:
        raise click.UsageError("--grant names the grant of an --outcome: give both.")
    place = elsewhere(before)
    if grant is None and place is not None:
        raise click.ClickException(f"the grant is on {place}: close that")
    if grant is None and before.stamp is None and before.request is None:
        raise click.ClickException(f"{before.subject}: no grant is in force")
    changed: dict[str, str | None] = {}
    if grant is None or (before.stamp is not None and before.stamp.id == grant):
        changed |= dict.fromkeys(names.ASKED)
    if outcome is not None:
        changed[names.OUTCOME] = f"{outcome}:{grant}" if grant else outcome
    kubectl.annotate(target, changed)
    read_and_show(kubectl, target)


@click.command("extend")
@on_target
@click.option("--ttl", required=True, metavar="TIME", help="How long from now on, such as 30m.")
def extend(target: str, kubectl: Kubectl, ttl: str) -> None:
    """Give an open grant more time, as far as its rule allows."""
    view = read_view(kubectl, target)
    place = elsewhere(view)
    if place is not None:
        raise click.ClickException(f"the grant is on {place}: extend that")
    if view.stamp is None or not is_open_now(view):
        raise click.ClickException(
            f"nothing is open there; try: {kubectl.command_line('break', target)}"
        )
    me = kubectl.whoami()
    if me not in {None, view.stamp.actor}:
        raise click.ClickException(
            f"it is {view.stamp.actor}'s to extend; to have it in their place: "
            f"{kubectl.command_line('break', target)} --take-over"
        )
    # On the object, a grant's time counts from its beginning.
    elapsed = datetime.now(UTC) - view.stamp.start
    kubectl.annotate(target, {names.TTL: render_duration(elapsed + _more(ttl))})
    read_and_show(kubectl, target)


def _more(ttl: str) -> timedelta:
    try:
        return parse_positive_duration(ttl)
    except DurationError as error:
        raise click.BadParameter(str(error)) from error


@click.command("status")
@on_target
def status(target: str, kubectl: Kubectl) -> None:
    """Show whether break-glass is open on an object: for whom, until when, for which fields."""
    read_and_show(kubectl, target)
