"""How commands name one object, and by which way they look at it."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from glasswarden.cli.kubectl_options import flags_taken, kubectl_options, kubectl_with
from glasswarden.cli.live import Snapshot, live_option


def on_target(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command name one object, as `target`, and pass kubectl's flags on, as `kubectl`."""

    @_named
    @wraps(function)
    def command(target: str, **options: Any) -> None:  # noqa: ANN401 - the command's own options
        kubectl = kubectl_with(flags_taken(options))
        function(target=_one(target), kubectl=kubectl, **options)

    return command


def on_object(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command name one object, in the cluster or in a folder, and hand it over as `obj`."""

    @_named
    @live_option
    @wraps(function)
    def command(target: str, folder: Path | None, **options: Any) -> None:  # noqa: ANN401
        flags = flags_taken(options)
        if folder is not None:
            found = Snapshot(folder).get(_one(target), flags["namespace"] or "default")
        else:
            found = kubectl_with(flags).get(_one(target))
        function(obj=found, **options)

    return command


def on_history(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command name one object that may be gone; handed over as `live` where it is there."""

    @_named
    @live_option
    @wraps(function)
    def command(target: str, folder: Path | None, **options: Any) -> None:  # noqa: ANN401
        flags = flags_taken(options)
        named = _one(target)
        if folder is not None:
            found = Snapshot(folder).find(named, flags["namespace"] or "default")
        else:
            found = kubectl_with(flags).look(named)
        function(target=named, namespace=flags["namespace"], live=found, **options)

    return command


def _named(command: Callable[..., None]) -> Callable[..., None]:
    namespace = click.option("-n", "--namespace", metavar="NAME", help="The object's namespace.")
    target = click.argument("target", metavar="TYPE/NAME")
    return target(namespace(kubectl_options(command)))


def _one(target: str) -> str:
    kind, _, name = target.partition("/")
    if not kind or not name or target.startswith("-"):
        raise click.BadParameter(f"{target!r} names no object; write TYPE/NAME, such as deploy/web")
    return target
