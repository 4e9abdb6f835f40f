"""kubectl's own flags on our commands: they say which cluster, and as whom."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from glasswarden.cli.kubectl import Kubectl, find_kubectl

Function = TypeVar("Function", bound=Callable[..., object])

_FLAGS: Final = ("context", "kubeconfig", "as_")


def kubectl_options(function: Function) -> Function:
    """Let a command pass kubectl's flags on; `kubectl_of` reads them from its options."""
    context = click.option("--context", metavar="NAME", help="The kubeconfig's context.")
    kubeconfig = click.option("--kubeconfig", metavar="FILE", help="The kubeconfig.")
    whom = click.option("--as", "as_", metavar="USER", help="Whom to impersonate.")
    return context(kubeconfig(whom(function)))


def kubectl_of(options: dict[str, Any]) -> Kubectl:
    """Return kubectl with the flags among *options*."""
    return kubectl_with({name: options[name] for name in _FLAGS})


def flags_taken(options: dict[str, Any]) -> dict[str, str | None]:
    """Take kubectl's flags, and the namespace, out of *options*."""
    return {name: options.pop(name) for name in ("namespace", *_FLAGS)}


def kubectl_with(flags: dict[str, str | None]) -> Kubectl:
    """Return kubectl with those of *flags* that were given."""
    given = {name.rstrip("_"): value for name, value in flags.items() if value is not None}
    return find_kubectl([f"--{name}={value}" for name, value in given.items()])
