"""What the break-glass commands share: the object, and whose kubectl."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from glasswarden.cli.kubectl import find_kubectl

_FLAGS = ("namespace", "context", "kubeconfig", "as_")


def on_target(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command name one object, as `target`, and pass kubectl's flags on, as `kubectl`."""

    @click.argument("target", metavar="TYPE/NAME")
    @click.option("-n", "--namespace", metavar="NAME", help="The object's namespace.")
    @click.option("--context", metavar="NAME", help="The kubeconfig's context.")
    @click.option("--kubeconfig", metavar="FILE", help="The kubeconfig.")
    @click.option("--as", "as_", metavar="USER", help="Whom to impersonate.")
    @wraps(function)
    def command(target: str, **options: Any) -> None:  # noqa: ANN401 - the command's own options
        given = {name: options.pop(name) for name in _FLAGS}
        function(target=_one(target), kubectl=find_kubectl(_flags(given)), **options)

    return command


def _one(target: str) -> str:
    kind, _, name = target.partition("/")
    if not kind or not name or target.startswith("-"):
        raise click.BadParameter(f"{target!r} names no object; write TYPE/NAME, such as deploy/web")
    return target


def _flags(given: dict[str, str | None]) -> list[str]:
    return [f"--{name.rstrip('_')}={value}" for name, value in given.items() if value is not None]
