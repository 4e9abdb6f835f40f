"""What the commands about grants share: the ledger's part of the question, and whose kubectl."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from glasswarden.cli.kubectl import Kubectl, find_kubectl
from glasswarden.cli.times import MOMENT

Function = TypeVar("Function", bound=Callable[..., object])

_FLAGS = ("context", "kubeconfig", "as_")


def ledger_option(function: Function) -> Function:
    """Let a command be told its ledger as `address`.

    Not required: the group is read before its subcommand, which asks for a ledger itself.
    """
    return click.option(
        "--ledger",
        "address",
        envvar="GLASSWARDEN_LEDGER",
        metavar="ADDRESS",
        help="The ledger: sqlite:///PATH or postgresql://USER@HOST/DATABASE.  [required]",
    )(function)


def scope_options(function: Function) -> Function:
    """Let a command be told which records it goes by."""
    since = click.option(
        "--since",
        type=MOMENT,
        default="30d",
        show_default=True,
        help="Grants that something happened to since: 7d, 2026-03-01T12:00:00Z.",
    )
    cluster = click.option("--cluster", help="Of this cluster, which kubectl must be talking to.")
    return since(cluster(function))


def kubectl_options(function: Function) -> Function:
    """Let a command pass kubectl's flags on; `kubectl_of` takes them out of its options."""
    context = click.option("--context", metavar="NAME", help="The kubeconfig's context.")
    kubeconfig = click.option("--kubeconfig", metavar="FILE", help="The kubeconfig.")
    whom = click.option("--as", "as_", metavar="USER", help="Whom to impersonate.")
    return context(kubeconfig(whom(function)))


def kubectl_of(options: dict[str, Any]) -> Kubectl:
    """Return kubectl with the flags among *options*."""
    given = {name.rstrip("_"): options[name] for name in _FLAGS if options[name] is not None}
    return find_kubectl([f"--{name}={value}" for name, value in given.items()])


def required(address: str | None) -> str:
    """Return the ledger's address, or end as click does without one."""
    if address is None:
        raise click.UsageError("Missing option '--ledger'.")
    return address
