"""`glasswarden ledger hold`: keep what belongs to a ticket, however old."""

import getpass
from datetime import UTC, datetime
from pathlib import Path

import click

from glasswarden.cli.ledger.options import (
    Function,
    acting,
    existing,
    keys_option,
    ledger_option,
    sentences,
)
from glasswarden.ledger.ledger import LegalHold
from glasswarden.ledger.legal_hold import lift_hold, put_hold
from glasswarden.printable import printable


@click.group("hold")
def command() -> None:
    """Keep what belongs to a ticket, however old; each act leaves a signed record."""


def who_and_why(function: Function) -> Function:
    """Let a command be told who acts, and why."""
    by = click.option("--by", default=getpass.getuser, help="Who says so; else you.")
    why = click.option("--why", required=True, help="The reason, for whoever asks later.")
    return by(why(function))


@command.command("add")
@click.argument("ticket")
@who_and_why
@ledger_option
@keys_option
def add(ticket: str, by: str, why: str, address: str, keys: Path | None) -> None:
    """Put a legal hold on TICKET."""
    now = datetime.now(UTC)
    with sentences(), existing(address) as ledger, acting(ledger, address, keys, now) as clerk:
        is_new = put_hold(ledger, LegalHold(ticket, now, by, why), clerk)
    click.echo(f"{ticket} is held" if is_new else f"{ticket} was held already, and still is")


@command.command("remove")
@click.argument("ticket")
@who_and_why
@ledger_option
@keys_option
def remove(ticket: str, by: str, why: str, address: str, keys: Path | None) -> None:
    """Lift the legal hold on TICKET."""
    now = datetime.now(UTC)
    with sentences(), existing(address) as ledger, acting(ledger, address, keys, now) as clerk:
        was_held = lift_hold(ledger, ticket, by, why, clerk)
    if not was_held:
        raise click.ClickException(f"{ticket} is not held")
    click.echo(f"{ticket} is no longer held")


@command.command("list")
@ledger_option
def list_command(address: str) -> None:
    """List the legal holds in force, oldest first."""
    with sentences(), existing(address) as ledger:
        for hold in ledger.holds():
            cells = (hold.ticket, hold.since.isoformat(), hold.by, hold.why)
            click.echo("\t".join(map(printable, cells)))
