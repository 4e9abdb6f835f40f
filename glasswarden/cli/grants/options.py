"""What the commands about grants share: the ledger's part of the question."""

from collections.abc import Callable
from typing import TypeVar

import click

from glasswarden.cli.times import MOMENT

Function = TypeVar("Function", bound=Callable[..., object])


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


def required(address: str | None) -> str:
    """Return the ledger's address, or end as click does without one."""
    if address is None:
        raise click.UsageError("Missing option '--ledger'.")
    return address
